-- purpose: every window of the time in which a series was analysed, and whether it was Up
-- params: none
-- returns: series_id, t_ns, window_ns, bytes, rate_bps, up_bps, is_up, burst_bps
-- order: none
--
-- Up is above up_bps, a tenth of the way from the fastest Down phase to the slowest Up phase of the series'
-- profile, burst_bps; null for one without phases. A burst pauses between packets: in short windows is_up
-- flickers. Where some series are enough, function series_bursts_of is faster.
select
    series_id,
    t_ns,
    window_ns,
    bytes,
    rate_bps,
    up_bps,
    is_up,
    burst_bps
from series_bursts_of(null)
