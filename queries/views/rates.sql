-- purpose: bytes and rate of every window between two reads of a byte counter; layers stand apart, never
--   sum them
-- params: none
-- returns: series_id, host, device, port, direction, layer, t_ns, window_ns, bytes, rate_bps, flags
-- order: none
--
-- The rules are those of profiler/signals.py. Of counter reads at one time the last counts; deltas add. A
-- read a little lower than the one before, with the one after back on course, is a bad one and left out. A
-- step back is a wrap if the counter is narrower than 64 bits and so moved less than half its range; a reset
-- if more than half of its value is gone: the bytes since are known but their rate is not, rate_bps is null;
-- any other is impossible and moves nothing. A delta's bytes came in its own window, or since the read
-- before where that is not known. t_ns is the end of the window.
with byte_series as (
    select
        series_id,
        host,
        device,
        port,
        direction,
        layer,
        kind = 'delta' as is_delta,
        raw_scale * case when width_bits < 64 then pow(2, width_bits) end as wrap_bytes
    from series
    where unit = 'bytes' and metric = 'bytes' and kind in ('counter', 'delta')
),

reads as (
    select
        samples.series_id,
        samples.t_ns,
        max(samples.window_ns) as window_ns,
        case
            when any_value(byte_series.is_delta) then cast(sum(distinct samples.value) as bigint)
            else max_by(samples.value, (samples.epoch, samples.value))
        end as value, -- noqa: RF04
        case
            when any_value(byte_series.is_delta) then bit_or(samples.flags)
            else max_by(samples.flags, (samples.epoch, samples.value, samples.flags))
        end as flags,
        max(samples.epoch) as epoch
    from samples
    inner join byte_series on samples.series_id = byte_series.series_id
    group by samples.series_id, samples.t_ns
),

neighbours as (
    select
        reads.*,
        byte_series.is_delta,
        byte_series.wrap_bytes,
        lag(reads.value) over in_time as before_value,
        lead(reads.value) over in_time as after_value,
        lag(reads.epoch) over in_time as before_epoch
    from reads
    inner join byte_series on reads.series_id = byte_series.series_id
    window in_time as (partition by reads.series_id order by reads.t_ns)
),

plausible as (
    select * exclude (is_delta, wrap_bytes, before_value, after_value, before_epoch)
    from neighbours
    where
        is_delta
        or coalesce(epoch > before_epoch, false)
        or not coalesce(
            value < before_value
            and after_value >= before_value
            and value > before_value - value
            and not coalesce(value + wrap_bytes - before_value < wrap_bytes / 2, false),
            false
        )
),

steps as (
    select
        series_id,
        t_ns,
        window_ns,
        value,
        flags,
        t_ns - lag(t_ns) over in_time as since_ns,
        value - lag(value) over in_time as since_bytes,
        coalesce(epoch > lag(epoch) over in_time, false) as is_new_epoch
    from plausible
    window in_time as (partition by series_id order by t_ns)
),

counted as (
    select
        byte_series.*,
        steps.t_ns,
        steps.value,
        steps.flags,
        not byte_series.is_delta and steps.is_new_epoch as is_new_epoch,
        case
            when byte_series.is_delta and steps.window_ns > 0 then steps.window_ns else steps.since_ns
        end as step_ns,
        case when byte_series.is_delta then steps.value else steps.since_bytes end as step_bytes
    from steps
    inner join byte_series on steps.series_id = byte_series.series_id
),

judged as (
    select
        *,
        step_bytes < 0
        and not is_new_epoch
        and coalesce(step_bytes + wrap_bytes < wrap_bytes / 2, false) as is_wrap
    from counted
    where step_ns > 0
),

mended as (
    select
        *,
        case
            when is_wrap then cast(step_bytes + wrap_bytes as bigint)
            when is_new_epoch then value
            when step_bytes < 0 then case when value < -step_bytes then value else 0 end
            else step_bytes
        end as bytes,
        is_new_epoch or (step_bytes < 0 and not is_wrap) or (flags & 4) = 4 as is_unknown
    from judged
)

select
    series_id,
    host,
    device,
    port,
    direction,
    layer,
    t_ns,
    step_ns as window_ns,
    bytes,
    case when not is_unknown then bytes * 8e9 / step_ns end as rate_bps,
    flags
from mended
