-- purpose: what was read of each series: how many reads, how evenly, with which gaps and flags
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- returns: series_id, n_samples, first_ns, last_ns, step_s (median time between reads, to 1 %), n_gaps,
--   unread_s, longest_gap_s (longest step), n_missed, n_resets, n_flagged; a series without a read has no row
-- example: from series_coverage(null, null) where n_gaps > 0
--
-- A gap is a step of more than three times the median; unread_s is by how much gaps are longer than a usual
-- step. Gaps are null for a series of deltas, whose source writes a silence as one row. Steps are counted in
-- bins of 1 %, so that memory does not grow with their number.
create macro series_coverage(first_ns, last_ns) as table
    with steps as (
        select
            series_id,
            t_ns,
            flags,
            t_ns - lag(t_ns) over (partition by series_id order by t_ns) as step_ns
        from samples
        where
            t_ns >= coalesce(first_ns, -9223372036854775807)
            and t_ns <= coalesce(last_ns, 9223372036854775807)
    ),

    bins as (
        select
            series_id,
            case when step_ns > 0 then cast(floor(ln(step_ns) * 100) as integer) end as i_bin,
            count(*) as n_reads,
            sum(step_ns) as sum_ns,
            max(step_ns) as longest_ns,
            min(t_ns) as from_ns,
            max(t_ns) as to_ns,
            count(*) filter (where (flags & 8) != 0) as n_missed,
            count(*) filter (where (flags & 1) != 0) as n_resets,
            count(*) filter (where flags != 0) as n_flagged
        from steps
        group by series_id, i_bin
    ),

    ranked as (
        select
            series_id,
            i_bin,
            sum_ns / n_reads as mean_ns,
            sum(n_reads) over (partition by series_id order by i_bin) as n_so_far,
            sum(n_reads) over (partition by series_id) as n_steps
        from bins
        where i_bin is not null
    ),

    medians as (
        select
            series_id,
            min(i_bin) as i_median,
            arg_min(mean_ns, i_bin) as step_ns
        from ranked
        where n_so_far * 2 >= n_steps
        group by series_id
    ),

    totals as (
        select
            bins.series_id,
            any_value(medians.step_ns) as step_ns,
            cast(sum(bins.n_reads) as bigint) as n_samples,
            min(bins.from_ns) as from_ns,
            max(bins.to_ns) as to_ns,
            coalesce(cast(sum(bins.n_reads) filter (where bins.i_bin > medians.i_median + 110) as bigint), 0)
                as n_gaps,
            coalesce(
                sum(bins.sum_ns - bins.n_reads * medians.step_ns)
                filter (where bins.i_bin > medians.i_median + 110),
                0
            ) / 1e9 as unread_s,
            max(bins.longest_ns) / 1e9 as longest_gap_s,
            cast(sum(bins.n_missed) as bigint) as n_missed,
            cast(sum(bins.n_resets) as bigint) as n_resets,
            cast(sum(bins.n_flagged) as bigint) as n_flagged
        from bins
        left join medians on bins.series_id = medians.series_id
        group by bins.series_id
    )

    select
        totals.series_id,
        totals.n_samples,
        totals.from_ns as first_ns,
        totals.to_ns as last_ns,
        totals.step_ns / 1e9 as step_s,
        case when series.kind != 'delta' then totals.n_gaps end as n_gaps,
        case when series.kind != 'delta' then totals.unread_s end as unread_s,
        totals.longest_gap_s,
        totals.n_missed,
        totals.n_resets,
        totals.n_flagged
    from totals
    inner join series on totals.series_id = series.series_id
