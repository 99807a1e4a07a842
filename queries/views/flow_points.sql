-- purpose: the series of captures that are a job's rank's, of every point at which they were captured
-- params: none
-- returns: part_id, job_id, host, device, port, capture_point, bytes, choice
-- order: none
--
-- part_id is of a pair of addresses, or of a flow, that is the job's and no other's; bytes is what all flows
-- of the rank that were captured at the point moved. choice counts the points of a rank's port from 1: that
-- which saw most bytes, then most series, comes first.
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
        any_value(pairs.src) as src,
        any_value(pairs.dst) as dst,
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

moved as (
    select
        src,
        dst,
        coalesce(point, '') as capture_point,
        sum(bytes) as bytes
    from flows
    group by src, dst, coalesce(point, '')
),

of_pairs as (
    select
        owned.*,
        coalesce(moved.bytes, 0) / count(*) over (
            partition by owned.src, owned.dst, owned.capture_point
        ) as part_bytes
    from owned
    left join moved
        on
            owned.src = moved.src
            and owned.dst = moved.dst
            and owned.capture_point = moved.capture_point
),

counted as (
    select
        *,
        sum(part_bytes) over (at_point) as bytes,
        count(*) over (at_point) as n_parts
    from of_pairs
    window at_point as (partition by job_id, rank_host, rank_device, rank_port, capture_point)
)

select
    part_id,
    job_id,
    rank_host as host, -- noqa: RF04
    rank_device as device,
    rank_port as port,
    capture_point,
    cast(round(bytes) as bigint) as bytes,
    dense_rank() over (
        partition by job_id, rank_host, rank_device, rank_port
        order by round(bytes) desc, n_parts desc, capture_point asc
    ) as choice
from counted
