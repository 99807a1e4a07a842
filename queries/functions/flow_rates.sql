-- purpose: what each rank sends as a capture saw it: windows of the sums of a job's flows, of view flow_parts
-- params: first_ns integer: bins from here on; null: from the first
-- params: last_ns integer: bins up to here; null: to the last
-- params: chosen list = null: series_id of each sum wanted; null: all
-- returns: series_id, t_ns integer (end of the window), window_ns integer, bytes, rate_bps
-- example: from flow_rates(null, null) where rate_bps > 1e9
--
-- A capture sees all flows at its point: one that has no bin moved nothing, and a time is unknown, and has
-- no window, only where no flow has a bin that covers it. A silence is one bin, however long. The rules are
-- those of pipeline/flowsums.py. View rates has the parts of these sums, not the sums.
create macro flow_rates(first_ns, last_ns, chosen := null) as table
    with parts as (
        select
            series_id,
            part_id
        from flow_parts
        where chosen is null or list_contains(chosen, series_id)
    ),

    -- Equal bytes of two epochs are halves of a bin in which one file of a capture ends and the next begins.
    halves as (
        select
            series_id as part_id,
            t_ns,
            value, -- noqa: RF04
            max(window_ns) as window_ns,
            bit_and(flags) as flags
        from samples
        where
            t_ns >= coalesce(first_ns, -9223372036854775807)
            and t_ns <= coalesce(last_ns, 9223372036854775807)
            and series_id in (select parts.part_id from parts)
        group by series_id, t_ns, value, epoch
    ),

    bins as (
        select
            part_id,
            t_ns,
            max(window_ns) as window_ns,
            cast(sum(value) as bigint) as bin_bytes,
            bit_and(flags) & 8 = 8 as is_missed
        from halves
        group by part_id, t_ns
    ),

    timed as (
        select
            part_id,
            t_ns,
            bin_bytes,
            case
                when is_missed then null
                when window_ns > 0 then t_ns - window_ns
                else lag(t_ns) over (partition by part_id order by t_ns)
            end as start_ns
        from bins
    ),

    sums as (
        select
            parts.series_id,
            timed.t_ns,
            cast(sum(timed.bin_bytes) as bigint) as sum_bytes,
            min(timed.start_ns) as first_start_ns,
            max(timed.start_ns) as last_start_ns
        from timed
        inner join parts on timed.part_id = parts.part_id
        group by parts.series_id, timed.t_ns
    ),

    covered as (
        select
            series_id,
            t_ns,
            sum_bytes,
            coalesce(lag(t_ns) over (partition by series_id order by t_ns), last_start_ns) as before_ns,
            min(first_start_ns) over (
                partition by series_id order by t_ns rows between current row and unbounded following
            ) as covered_ns
        from sums
    )

    select
        series_id,
        t_ns,
        t_ns - greatest(before_ns, covered_ns) as window_ns,
        sum_bytes as bytes,
        sum_bytes * 8e9 / (t_ns - greatest(before_ns, covered_ns)) as rate_bps
    from covered
    where t_ns > greatest(before_ns, covered_ns)
