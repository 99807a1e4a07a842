-- purpose: what each job transmitted in every window of its best-known series, and whether it was Up
-- params: none
-- returns: job_id, series_id, t_ns, window_ns, bytes, rate_bps, is_up
-- order: none
--
-- Up is above the middle between the fastest Down phase and the slowest Up phase of the job's profile.
-- is_up is null for a job without phases.
with thresholds as (
    select
        series_id,
        (coalesce(max(rate_bps) filter (where kind = 'down'), 0) + min(rate_bps) filter (where kind = 'up'))
        / 2 as up_bps
    from phases
    group by series_id
)

select
    job_profiles.job_id,
    job_profiles.series_id,
    rates.t_ns,
    rates.window_ns,
    rates.bytes,
    rates.rate_bps,
    rates.rate_bps > thresholds.up_bps as is_up
from job_profiles
inner join rates on job_profiles.series_id = rates.series_id
left join thresholds on job_profiles.series_id = thresholds.series_id
