-- purpose: every window of the series that were analysed, and whether the series was Up
-- params: none
-- returns: series_id, t_ns, window_ns, bytes, rate_bps, up_bps, is_up
-- order: none
--
-- Up is above up_bps, a tenth of the way from the fastest Down phase to the slowest Up phase of the series'
-- profile; null for one without phases. A burst pauses between packets: in short windows is_up flickers.
with thresholds as (
    select
        series_id,
        coalesce(max(rate_bps) filter (where kind = 'down'), 0) as down_bps,
        min(rate_bps) filter (where kind = 'up') as burst_bps
    from phases
    group by series_id
)

select
    profiles.series_id,
    rates.t_ns,
    rates.window_ns,
    rates.bytes,
    rates.rate_bps,
    thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as up_bps,
    rates.rate_bps > thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as is_up
from profiles
inner join rates on profiles.series_id = rates.series_id
left join thresholds on profiles.series_id = thresholds.series_id
