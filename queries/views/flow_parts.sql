-- purpose: the series of captures whose sum is what a job's rank sends through its port
-- params: none
-- returns: series_id, part_id, job_id, host, device, port, capture_point
-- order: none
--
-- series_id is of the sum, part_id of a pair of addresses, or of a flow, that is the job's and no other's.
-- What was captured at several points is not added up: the sum is of one point, that with the most parts.
with pairs as (
    select
        series_id as part_id,
        host as src,
        regexp_extract(device, '^(lid \d+|\S+)') as dst,
        port as capture_point
    from series
    where layer = 'capture' and metric = 'bytes' and kind = 'delta'
),

owned as (
    select
        pairs.part_id,
        any_value(pairs.capture_point) as capture_point,
        any_value(senders.job_id) as job_id,
        any_value(senders.host) as rank_host,
        any_value(senders.device) as rank_device,
        any_value(senders.port) as rank_port
    from pairs
    inner join address_jobs as senders on pairs.src = senders.address
    inner join address_jobs as receivers
        on pairs.dst = receivers.address and senders.job_id = receivers.job_id
    group by pairs.part_id
    having count(*) = 1 and any_value(senders.device) is not null
),

counted as (
    select
        *,
        count(*) over (partition by job_id, rank_host, rank_device, rank_port, capture_point) as n_parts
    from owned
),

ranked as (
    select
        *,
        dense_rank() over (
            partition by job_id, rank_host, rank_device, rank_port
            order by n_parts desc, capture_point asc
        ) as choice
    from counted
)

select
    md5_number_lower(
        concat_ws('|', 'flows', job_id, rank_host, rank_device, rank_port, capture_point)
    ) as series_id,
    part_id,
    job_id,
    rank_host as host, -- noqa: RF04
    rank_device as device,
    rank_port as port,
    capture_point
from ranked
where choice = 1
