-- purpose: the flows of captures that are each job's, and those that are no job's, by reason
-- params: job_id text = null: only this job
-- returns: job_id, reason, n_flows, packets, bytes, payload_bytes, share_frac, first_ns, first_at, last_ns,
--   last_at
-- order: bytes desc, job_id, reason
--
-- A flow is a job's if both of its addresses are of hosts or ports at which the job has ranks: see view
-- pair_jobs and [[host]] addresses of the cluster file; or if discover --write found the job in the flow's
-- own series: see view found_flows. job_id is null, and reason says why, for what is no job's.
-- share_frac is of the bytes of all flows. A flow that was captured at two points is two flows.
with told as (
    select
        coalesce(pair_jobs.job_id, found_flows.job_id) as job_id,
        case
            when pair_jobs.job_id is not null or found_flows.job_id is not null then null
            when found_flows.jobs is not null
                then 'several jobs were found in its series: ' || found_flows.jobs
            when flows.src is null or flows.dst is null then 'its packets tell no addresses'
            when not exists (select 1 from addresses)
                then 'of no job that was found by its beat, and no address is known to tell its hosts'
            else pair_jobs.reason
        end as reason,
        flows.packets,
        flows.bytes,
        flows.payload_bytes,
        flows.first_ns,
        flows.last_ns
    from flows
    left join pair_jobs on flows.src = pair_jobs.src and flows.dst = pair_jobs.dst
    left join found_flows on flows.flow_id = found_flows.flow_id
),

totals as (
    select
        job_id,
        reason,
        count(*) as n_flows,
        cast(sum(packets) as bigint) as packets,
        cast(sum(bytes) as bigint) as bytes,
        cast(sum(payload_bytes) as bigint) as payload_bytes,
        sum(bytes) / sum(sum(bytes)) over () as share_frac,
        min(first_ns) as first_ns,
        max(last_ns) as last_ns
    from told
    group by job_id, reason
)

select
    job_id,
    reason,
    n_flows,
    packets,
    bytes,
    payload_bytes,
    share_frac,
    first_ns,
    make_timestamp_ns(first_ns) as first_at,
    last_ns,
    make_timestamp_ns(last_ns) as last_at
from totals
where $job_id is null or job_id = $job_id
order by bytes desc, job_id asc, reason asc
