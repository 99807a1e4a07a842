-- purpose: view rates for a part of the time: windows between the reads of it, and nothing else is read
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- params: chosen list = null: series_id of each series wanted; null: all
-- returns: the columns of view rates
-- example: from rates_between(1796000000000000000, 1796000060000000000) where host = 'h1'
--
-- The rules are those of profiler/signals and profiler/rates.py. Of counter reads at one time the last
-- counts. Deltas add, and so do equal ones of different epochs: halves of a bin in which one file of a
-- capture ends and the next begins. Reads flagged impossible are left out, and so is a bad one: a little
-- lower than the one before, with the one after back on course. Bytes are those of function counter_bytes;
-- rate_bps is null where it is not known when they moved: after a reset, an impossible step or a saturated
-- read. A delta's bytes came in its own window, or since the read before where that is not known; a gauge of
-- bytes/s is taken for the mean of such a window.
--
-- A counter that is copied by a clock of its own moves when that ticks, not when it is read. Where offbeat
-- analyze has found such a clock, windows are between ticks (function counter_ticks), and refresh_s is its
-- interval. Elsewhere, as in what is not analysed yet, windows are between reads and refresh_s is null; of a
-- counter copied more slowly than it is read they have nothing in one window and too much in the next.
--
-- Constants that series_id, or what names a series, is compared with are applied before anything is sorted; a
-- join or a filter on the time of view rates is not, hence this function.
create macro rates_between(first_ns, last_ns, chosen := null) as table
    with byte_series as (
        select
            series_id,
            host,
            device,
            port,
            direction,
            layer,
            kind,
            width_bits,
            raw_scale,
            case when width_bits < 64 then raw_scale * pow(2, width_bits - 1) end as half_range
        from series
        where
            (
                (unit = 'bytes' and metric = 'bytes' and kind in ('counter', 'delta'))
                or (unit = 'bytes/s' and kind = 'gauge')
            )
            and (chosen is null or list_contains(chosen, series_id))
    ),

    clocked as (
        select series_id from clocks(first_ns, last_ns)
    ),

    unclocked as (
        select
            series_id,
            kind
        from byte_series
        where
            kind = 'gauge'
            or series_id not in (select clocked.series_id from clocked)
    ),

    reads as (
        select
            series_id,
            t_ns,
            window_ns,
            value, -- noqa: RF04
            flags,
            epoch
        from samples
        where
            (flags & 64) = 0
            and t_ns >= coalesce(first_ns, -9223372036854775807)
            and t_ns <= coalesce(last_ns, 9223372036854775807)
            and series_id in (
                select unclocked.series_id from unclocked
                where unclocked.kind != 'delta'
            )
        qualify
            lead(t_ns) over (partition by series_id order by t_ns, epoch, value, flags) is distinct from t_ns
    ),

    delta_rows as (
        select
            series_id,
            t_ns,
            value, -- noqa: RF04
            max(window_ns) as window_ns,
            bit_or(flags) as flags
        from samples
        where
            (flags & 64) = 0
            and t_ns >= coalesce(first_ns, -9223372036854775807)
            and t_ns <= coalesce(last_ns, 9223372036854775807)
            and series_id in (
                select unclocked.series_id from unclocked
                where unclocked.kind = 'delta'
            )
        group by series_id, t_ns, value, epoch
    ),

    deltas as (
        select
            series_id,
            t_ns,
            max(window_ns) as window_ns,
            cast(sum(value) as bigint) as step_bytes,
            bit_or(flags) as flags
        from delta_rows
        group by series_id, t_ns
    ),

    timed as (
        select
            series_id,
            t_ns,
            window_ns,
            value, -- noqa: RF04
            flags,
            epoch,
            cast(null as double) as refresh_s
        from reads
        union all
        select
            series_id,
            t_ns,
            0 as window_ns,
            value, -- noqa: RF04
            flags,
            epoch,
            refresh_s
        from counter_ticks(first_ns, last_ns, chosen := chosen)
    ),

    neighbours as (
        select
            *,
            lag(t_ns) over in_time as before_ns,
            lag(value) over in_time as before_value,
            lag(epoch) over in_time as before_epoch,
            lag(t_ns, 2) over in_time as second_ns,
            lag(value, 2) over in_time as second_value,
            lag(epoch, 2) over in_time as second_epoch,
            lead(value) over in_time as after_value
        from timed
        window in_time as (partition by series_id order by t_ns)
    ),

    described as (
        select
            neighbours.*,
            byte_series.kind,
            byte_series.width_bits,
            byte_series.raw_scale,
            byte_series.half_range
        from neighbours
        inner join byte_series on neighbours.series_id = byte_series.series_id
    ),

    judged as (
        select
            *,
            kind = 'counter'
            and before_epoch = epoch
            and value < before_value
            and after_value >= before_value
            and value > before_value - value
            and coalesce(before_value - value <= half_range, true) as is_bad,
            kind = 'counter'
            and second_epoch = before_epoch
            and before_value < second_value
            and value >= second_value
            and before_value > second_value - before_value
            and coalesce(second_value - before_value <= half_range, true) as is_after_bad
        from described
    ),

    based as (
        select
            series_id,
            kind,
            width_bits,
            raw_scale,
            t_ns,
            window_ns,
            value,
            flags,
            refresh_s,
            case when is_after_bad then second_value else before_value end as base_value,
            t_ns - case when is_after_bad then second_ns else before_ns end as since_ns,
            epoch > case when is_after_bad then second_epoch else before_epoch end as is_new_epoch
        from judged
        where is_bad is not true
    ),

    moved as (
        select
            *,
            counter_bytes(base_value, value, since_ns, width_bits := width_bits, scale := raw_scale)
                as counted,
            counter_rate_bps(base_value, value, since_ns, width_bits := width_bits, scale := raw_scale)
                as counted_bps
        from based
    ),

    steps as (
        select
            series_id,
            t_ns,
            flags,
            case when kind = 'gauge' and window_ns > 0 then window_ns else since_ns end as step_ns,
            case when kind = 'gauge' or is_new_epoch then value else counted end as amount,
            refresh_s,
            kind = 'gauge' as is_per_s,
            kind = 'counter' and (is_new_epoch or counted_bps is null) as is_unknown
        from moved
        union all
        select
            series_id,
            t_ns,
            flags,
            case
                when window_ns > 0 then window_ns
                -- A capture begins here: what moved since the one before it was not captured.
                when (flags & 8) = 0 then t_ns - lag(t_ns) over (partition by series_id order by t_ns)
            end as step_ns,
            step_bytes as amount,
            cast(null as double) as refresh_s,
            false as is_per_s,
            false as is_unknown
        from deltas
    )

    select
        steps.series_id,
        byte_series.host,
        byte_series.device,
        byte_series.port,
        byte_series.direction,
        byte_series.layer,
        byte_series.kind,
        steps.t_ns,
        steps.step_ns as window_ns,
        case
            when steps.is_per_s then cast(round(steps.amount * steps.step_ns / 1e9) as bigint)
            else steps.amount
        end as bytes,
        case
            when steps.is_unknown or (steps.flags & 4) = 4 then null
            when steps.is_per_s then steps.amount * 8.0
            else steps.amount * 8e9 / steps.step_ns
        end as rate_bps,
        steps.flags,
        steps.refresh_s
    from steps
    inner join byte_series on steps.series_id = byte_series.series_id
    where steps.step_ns > 0
