-- purpose: mean rate of a counter between two reads, wraps undone
-- params: before integer: the earlier read, in bytes
-- params: now integer: the later read, in bytes
-- params: step_ns integer: time between them
-- params: width_bits integer = 64: width of the raw counter, which wraps there; 64 or null: it does not wrap
-- params: scale real = 1: bytes in one raw unit, 4 for InfiniBand words; series.raw_scale
-- returns: rate_bps real: bit/s; null if a read or the time is null, the time is not positive, or the counter
--   stepped back without wrapping, so that it is not known when its bytes moved
-- example: counter_rate_bps(lag(value) over w, value, t_ns - lag(t_ns) over w)
--
-- Steps back are judged as by counter_bytes.
create macro counter_rate_bps(before, now, step_ns, width_bits := 64, scale := 1) as
case
    when before is null or now is null or coalesce(step_ns, 0) <= 0 then null
    when now >= before then (now - before) * 8e9 / step_ns
    when
        width_bits < 64
        and now - before + scale * pow(2, width_bits) < scale * pow(2, width_bits - 1)
        and now - before + scale * pow(2, width_bits) <= 500.0 * step_ns
        then (now - before + scale * pow(2, width_bits)) * 8e9 / step_ns
end
