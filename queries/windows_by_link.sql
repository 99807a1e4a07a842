-- purpose: each stretch of time in which two or more jobs of a link were Up together
-- params: link_id text = null: only this link
-- params: min_jobs count = 2: jobs that must be Up together
-- returns: link_id, direction, start_ns, started_at, duration_s, n_jobs_up, jobs_up, peak_demand_bps,
--   over_bytes
-- order: link_id, direction, start_ns
--
-- n_jobs_up, jobs_up: when most of them were Up.
with crowded as (
    select
        link_id,
        direction,
        t_ns,
        window_ns,
        n_jobs_up,
        jobs_up,
        demand_bps,
        over_bytes,
        t_ns - window_ns * row_number() over (partition by link_id, direction order by t_ns) as i_window
    from link_contention
    where n_jobs_up >= $min_jobs and ($link_id is null or link_id = $link_id)
)

select
    link_id,
    direction,
    min(t_ns - window_ns) as start_ns,
    make_timestamp_ns(min(t_ns - window_ns)) as started_at,
    cast(sum(window_ns) as bigint) / 1e9 as duration_s,
    max(n_jobs_up) as n_jobs_up,
    arg_max(jobs_up, (n_jobs_up, -t_ns)) as jobs_up,
    max(demand_bps) as peak_demand_bps,
    cast(sum(over_bytes) as bigint) as over_bytes
from crowded
group by link_id, direction, i_window
order by link_id, direction, start_ns
