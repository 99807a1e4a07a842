-- purpose: for each pair of addresses between which flows were captured, their job, or why they are no job's
-- params: none
-- returns: src, dst, job_id, reason
-- order: none
--
-- A flow is a job's if it has ranks at both addresses (view address_jobs), and no other job has.
with pairs as (
    select distinct
        src,
        dst
    from flows
    where src is not null and dst is not null
),

shared as (
    select
        pairs.src,
        pairs.dst,
        count(*) as n_jobs,
        string_agg(senders.job_id, ', ' order by senders.job_id) as jobs
    from pairs
    inner join address_jobs as senders on pairs.src = senders.address
    inner join address_jobs as receivers
        on pairs.dst = receivers.address and senders.job_id = receivers.job_id
    group by pairs.src, pairs.dst
),

known as (
    select
        addresses.address,
        string_agg(distinct address_jobs.job_id, ', ' order by address_jobs.job_id) as jobs
    from addresses
    left join address_jobs on addresses.address = address_jobs.address
    group by addresses.address
)

select
    pairs.src,
    pairs.dst,
    case when shared.n_jobs = 1 then shared.jobs end as job_id,
    case
        when shared.n_jobs = 1 then null
        when shared.n_jobs > 1 then 'both ends are of several jobs: ' || shared.jobs
        when senders.address is null and receivers.address is null then 'neither address is of a known host'
        when senders.address is null then 'the sending address is of no known host'
        when receivers.address is null then 'the receiving address is of no known host'
        when senders.jobs is null and receivers.jobs is null then 'no job has a rank at either end'
        when senders.jobs is null then 'no job has a rank at the sender'
        when receivers.jobs is null then 'no job has a rank at the receiver'
        else 'the ends are of two jobs: ' || senders.jobs || ' to ' || receivers.jobs
    end as reason
from pairs
left join shared on pairs.src = shared.src and pairs.dst = shared.dst
left join known as senders on pairs.src = senders.address
left join known as receivers on pairs.dst = receivers.address
