-- purpose: the jobs that are counted on each link and direction which two or more of them cross
-- params: none
-- returns: link_id, direction, i_link, n_jobs, bin_ns, capacity_bps, job_id, i_job, series_id, period_s,
--   demand_frac
-- order: none
--
-- Of view link_jobs, those with is_counted. i_link numbers links and directions, and i_job the jobs of each,
-- from 0 on, in order of their names. bin_ns is the length of the bins in which jobs are compared: 1, 2 or 5
-- times a power of ten, at most a fiftieth of the shortest period.
with counted as (
    select
        link_id,
        direction,
        dense_rank() over (order by link_id, direction) - 1 as i_link,
        count(*) over together as n_jobs,
        min(period_s) over together * 1e9 / 50 as widest_ns,
        capacity_bps,
        job_id,
        row_number() over (partition by link_id, direction order by job_id) - 1 as i_job,
        series_id,
        period_s,
        demand_frac
    from link_jobs
    where is_counted
    window together as (partition by link_id, direction)
),

scaled as (
    select
        *,
        cast(pow(10, floor(log10(widest_ns))) as bigint) as scale_ns
    from counted
    where n_jobs > 1
)

select
    link_id,
    direction,
    i_link,
    n_jobs,
    scale_ns * case when widest_ns >= 5 * scale_ns then 5 when widest_ns >= 2 * scale_ns then 2 else 1 end
        as bin_ns,
    capacity_bps,
    job_id,
    i_job,
    series_id,
    period_s,
    demand_frac
from scaled
