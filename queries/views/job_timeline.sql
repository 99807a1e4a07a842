-- purpose: what each job transmitted in every window of its best-known series, and whether it was sending
-- params: none
-- returns: job_id, series_id, t_ns, window_ns, bytes, rate_bps, up_bps, is_up
-- order: none
--
-- up_bps and is_up are those of view series_bursts.
with chosen as (
    select coalesce(list(distinct series_id), []) as series_ids
    from job_profiles
),

bursts as (
    from series_bursts_of((select chosen.series_ids from chosen))
)

select
    job_profiles.job_id,
    job_profiles.series_id,
    bursts.t_ns,
    bursts.window_ns,
    bursts.bytes,
    bursts.rate_bps,
    bursts.up_bps,
    bursts.is_up
from job_profiles
inner join bursts on job_profiles.series_id = bursts.series_id
