-- purpose: bytes and rate of every window between two reads of a byte series, or ticks of the counter's own
--   clock; layers stand apart, never sum them
-- params: none
-- returns: series_id, host, device, port, direction, layer, kind, t_ns, window_ns, bytes, rate_bps, flags,
--   refresh_s
-- order: none
--
-- t_ns is the end of the window; rate_bps is null where it is not known when its bytes moved; refresh_s is
-- the interval of the counter's ticks, null where windows are between reads. The rules stand in function
-- rates_between, which is faster where a part of the time is enough.
select
    series_id,
    host,
    device,
    port,
    direction,
    layer,
    kind,
    t_ns,
    window_ns,
    bytes,
    rate_bps,
    flags,
    refresh_s
from rates_between(null, null)
