-- purpose: the jobs that meet on each link and direction, with the demand that each puts on it
-- params: link_id text = null: only this link
-- params: min_jobs count = 1: only links that at least so many jobs cross
-- returns: link_id, direction, tier, capacity_bps, n_jobs, job_id, series_id, load_frac, status, period_s,
--   duty_frac, mean_bps, peak_bps, is_measured
-- order: link_id, direction, job_id
--
-- is_measured: series_id counts this direction; else the job is assumed to send here as in its best-known
-- series. load_frac: the demand over the rate of the job's best-known series. See view link_jobs.
with counted as (
    select
        link_id,
        direction,
        tier,
        capacity_bps,
        count(*) over (partition by link_id, direction) as n_jobs,
        job_id,
        series_id,
        load_frac,
        status,
        period_s,
        duty_frac,
        mean_bps,
        peak_bps,
        is_measured
    from link_jobs
)

select
    link_id,
    direction,
    tier,
    capacity_bps,
    n_jobs,
    job_id,
    series_id,
    load_frac,
    status,
    period_s,
    duty_frac,
    mean_bps,
    peak_bps,
    is_measured
from counted
where n_jobs >= $min_jobs and ($link_id is null or link_id = $link_id)
order by link_id, direction, job_id
