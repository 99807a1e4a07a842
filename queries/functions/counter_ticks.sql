-- purpose: where each counter that is copied by a clock of its own stood at the ticks of that clock
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- params: chosen list = null: series_id of each series wanted; null: all
-- returns: series_id, t_ns integer (the tick), value integer (bytes so far), flags, epoch, refresh_s real
--   (interval of the clock; null for reads of times in which none was found, which stand at their own times)
-- example: from counter_ticks(1796000000000000000, 1796000060000000000)
--
-- Of the series of function clocks; deltas are summed up. A read belongs to the last tick before it. Of
-- several reads of a tick the middlemost is taken, which is surely on the right side of both, but of all the
-- first and the last, so that no bytes are lost. See profiler/refresh/ticks.py.
create macro counter_ticks(first_ns, last_ns, chosen := null) as table
    with found as (
        from clocks(first_ns, last_ns)
    ),

    clocked as (
        select
            series_id,
            kind
        from series
        where
            unit = 'bytes'
            and metric = 'bytes'
            and kind in ('counter', 'delta')
            and series_id in (select found.series_id from found)
            and (chosen is null or list_contains(chosen, series_id))
    ),

    deltas as (
        select
            series_id,
            t_ns,
            cast(sum(distinct value) as bigint) as step_bytes,
            bit_or(flags) as flags
        from samples
        where
            (flags & 64) = 0
            and t_ns >= coalesce(first_ns, -9223372036854775807)
            and t_ns <= coalesce(last_ns, 9223372036854775807)
            and series_id in (
                select clocked.series_id from clocked
                where clocked.kind = 'delta'
            )
        group by series_id, t_ns
    ),

    counted as (
        select
            series_id,
            t_ns,
            value, -- noqa: RF04
            flags,
            epoch
        from samples
        where
            (flags & 64) = 0
            and t_ns >= coalesce(first_ns, -9223372036854775807)
            and t_ns <= coalesce(last_ns, 9223372036854775807)
            and series_id in (
                select clocked.series_id from clocked
                where clocked.kind = 'counter'
            )
        union all
        select
            series_id,
            t_ns,
            cast(sum(step_bytes) over (partition by series_id order by t_ns) as bigint)
                as value, -- noqa: RF04
            flags,
            0 as epoch
        from deltas
    ),

    knots as (
        select
            series_id,
            refresh_s,
            from_ns,
            to_ns,
            unnest(knots_ns) as knot_ns,
            unnest(knots_ticks) as knot_ticks
        from found
    ),

    lines as (
        select
            *,
            lead(knot_ns) over onward as next_ns,
            coalesce(
                (lead(knot_ticks) over onward - knot_ticks) / (lead(knot_ns) over onward - knot_ns),
                1 / (refresh_s * 1e9)
            ) as ticks_per_ns
        from knots
        window onward as (partition by series_id, from_ns order by knot_ns)
    ),

    -- Of a clock that counts for a part of its time, the knots before and after that part only tell its pace.
    paces as (
        select
            *,
            greatest(knot_ns, from_ns) as start_ns
        from lines
        where knot_ns <= to_ns and coalesce(next_ns > from_ns, true)
    ),

    placed as (
        select
            counted.*,
            paces.refresh_s,
            paces.ticks_per_ns,
            counted.t_ns in (paces.from_ns, paces.to_ns) as is_end,
            case when counted.t_ns <= paces.to_ns then paces.from_ns end as from_ns,
            paces.knot_ticks + (counted.t_ns - paces.knot_ns) * paces.ticks_per_ns as n_ticks
        from counted
        asof left join paces on counted.series_id = paces.series_id and counted.t_ns >= paces.start_ns
    ),

    ticked as (
        select
            series_id,
            value, -- noqa: RF04
            flags,
            epoch,
            from_ns,
            case when from_ns is not null then refresh_s end as refresh_s,
            case when from_ns is null then t_ns else cast(floor(n_ticks) as bigint) end as i_tick,
            case when not is_end then abs(n_ticks - floor(n_ticks) - 0.5) else -1 end as off_frac,
            case
                when from_ns is null then t_ns
                else t_ns - cast(round((n_ticks - floor(n_ticks)) / ticks_per_ns) as bigint)
            end as t_ns
        from placed
    )

    select
        series_id,
        t_ns,
        value, -- noqa: RF04
        bit_or(flags) over (partition by series_id, from_ns, i_tick) as flags,
        epoch,
        refresh_s
    from ticked
    qualify
        row_number()
            over (partition by series_id, from_ns, i_tick order by off_frac asc, epoch desc, value desc)
        = 1
