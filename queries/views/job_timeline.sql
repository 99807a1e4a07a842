-- purpose: what each job transmitted in every window of its best-known series, and whether it was sending
-- params: none
-- returns: job_id, series_id, t_ns, window_ns, bytes, rate_bps, up_bps, is_up
-- order: none
--
-- up_bps and is_up are those of view series_bursts.
select
    job_profiles.job_id,
    job_profiles.series_id,
    series_bursts.t_ns,
    series_bursts.window_ns,
    series_bursts.bytes,
    series_bursts.rate_bps,
    series_bursts.up_bps,
    series_bursts.is_up
from job_profiles
inner join series_bursts on job_profiles.series_id = series_bursts.series_id
