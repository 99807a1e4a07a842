-- purpose: what each job transmitted in every window of its best-known series, and whether it was sending
-- params: none
-- returns: job_id, series_id, t_ns, window_ns, bytes, rate_bps, up_bps, is_up
-- order: none
--
-- Up is above up_bps, a tenth of the way from the fastest Down phase to the slowest Up phase of the job's
-- profile; null for a job without phases. A burst pauses between packets: in short windows is_up flickers.
with thresholds as (
    select
        series_id,
        coalesce(max(rate_bps) filter (where kind = 'down'), 0) as down_bps,
        min(rate_bps) filter (where kind = 'up') as burst_bps
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
    thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as up_bps,
    rates.rate_bps > thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as is_up
from job_profiles
inner join rates on job_profiles.series_id = rates.series_id
left join thresholds on job_profiles.series_id = thresholds.series_id
