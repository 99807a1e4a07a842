-- purpose: bytes that a counter moved between two reads, wraps undone
-- params: before integer: the earlier read, in bytes
-- params: now integer: the later read, in bytes
-- params: step_ns integer: time between them
-- params: width_bits integer = 64: width of the raw counter, which wraps there; 64 or null: it does not wrap
-- params: scale real = 1: bytes in one raw unit, 4 for InfiniBand words; series.raw_scale
-- returns: bytes integer: null if a read or the time is null, or the time is not positive; after a reset the
--   bytes since, 0 if the counter stepped back in any other way
-- example: counter_bytes(lag(value) over w, value, t_ns - lag(t_ns) over w, width_bits := 32, scale := 4)
--
-- The rules are those of profiler/signals/steps.py. A step back is a wrap if the bytes so implied are less
-- than half of the counter's range, and no more than 4 Tbit/s (500 bytes a ns) can bring; a reset if more
-- than half of its value is gone.
create macro counter_bytes(before, now, step_ns, width_bits := 64, scale := 1) as
case
    when before is null or now is null or coalesce(step_ns, 0) <= 0 then null
    when now >= before then now - before
    when
        width_bits < 64
        and now - before + scale * pow(2, width_bits) < scale * pow(2, width_bits - 1)
        and now - before + scale * pow(2, width_bits) <= 500.0 * step_ns
        then cast(now - before + scale * pow(2, width_bits) as bigint)
    when now < before - now then now
    else 0
end
