-- purpose: each stretch of time in which two or more jobs of a link were Up together
-- params: link_id text = null: only this link
-- params: min_jobs count = 2: jobs that must be Up together
-- returns: link_id, direction, start_ns, started_at, duration_s, n_jobs_up, jobs_up, peak_demand_bps,
--   over_bytes, uncounted_jobs
-- order: link_id, direction, start_ns
--
-- n_jobs_up, jobs_up: when most of them were Up. uncounted_jobs: others that cross the link, of which it is
-- not known when they are Up; null if none.
with uncounted as (
    select
        link_id,
        direction,
        string_agg(job_id, ', ' order by job_id) as jobs
    from link_jobs
    where not is_counted
    group by link_id, direction
),

crowded as (
    select
        link_id,
        direction,
        t_ns,
        window_ns,
        n_jobs_up,
        jobs_up,
        demand_bps,
        over_bytes,
        -- The same as long as one stretch begins where the last one ended.
        t_ns - sum(window_ns) over (partition by link_id, direction order by t_ns) as i_window
    from link_meetings($link_id)
    where n_jobs_up >= $min_jobs
)

select
    crowded.link_id,
    crowded.direction,
    min(crowded.t_ns - crowded.window_ns) as start_ns,
    make_timestamp_ns(min(crowded.t_ns - crowded.window_ns)) as started_at,
    cast(sum(crowded.window_ns) as bigint) / 1e9 as duration_s,
    max(crowded.n_jobs_up) as n_jobs_up,
    arg_max(crowded.jobs_up, (crowded.n_jobs_up, -crowded.t_ns)) as jobs_up,
    max(crowded.demand_bps) as peak_demand_bps,
    cast(sum(crowded.over_bytes) as bigint) as over_bytes,
    any_value(uncounted.jobs) as uncounted_jobs
from crowded
left join uncounted on crowded.link_id = uncounted.link_id and crowded.direction = uncounted.direction
group by crowded.link_id, crowded.direction, crowded.i_window
order by crowded.link_id, crowded.direction, start_ns
