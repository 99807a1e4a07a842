-- purpose: a series' rate over a typical iteration: its windows laid over one another by a period
-- params: series integer: its series_id
-- params: iteration_s real: the iteration period
-- params: n_bins integer = 48: parts of an iteration
-- params: begin_ns integer = 0: when an iteration begins, such as profiles.anchor_ns
-- returns: i_bin integer, phase_s real (start of the bin), mean_bps real, known_s real (time observed): no
--   rows if an argument is null or the period not positive; bins that were never observed have no row
-- example: from folded_rates(1234, 0.255, n_bins := 100)
--
-- The bytes of a window are spread evenly over it, so that none are lost. Windows whose rate is not known are
-- left out, and those longer than half a period, in which phases cannot be told.
-- DuckDB has no parameter with the name of a column of the files read, hence iteration_s and begin_ns.
create macro folded_rates(series, iteration_s, n_bins := 48, begin_ns := 0) as table
    with folding as (
        select
            iteration_s * 5e8 as longest_ns,
            iteration_s * 1e9 / n_bins as bin_ns,
            n_bins as n_slots,
            begin_ns as zero_ns
        where iteration_s > 0 and n_bins > 0
    ),

    chosen as (
        select
            t_ns,
            window_ns,
            rate_bps
        from rates
        where series_id = series and rate_bps is not null
    ),

    windows as (
        select
            folding.n_slots,
            folding.bin_ns,
            chosen.rate_bps,
            chosen.t_ns - folding.zero_ns - chosen.window_ns as start_ns,
            chosen.t_ns - folding.zero_ns as end_ns
        from chosen
        cross join folding
        where chosen.window_ns <= folding.longest_ns
    ),

    cut as (
        select
            *,
            unnest(
                range(cast(floor(start_ns / bin_ns) as bigint), cast(ceil(end_ns / bin_ns) as bigint))
            ) as i_slot
        from windows
    ),

    pieces as (
        select
            bin_ns,
            rate_bps,
            (i_slot % n_slots + n_slots) % n_slots as i_slot,
            greatest(least(end_ns, (i_slot + 1) * bin_ns) - greatest(start_ns, i_slot * bin_ns), 0)
                as overlap_ns
        from cut
    )

    select
        i_slot as i_bin,
        i_slot * bin_ns / 1e9 as phase_s,
        sum(rate_bps * overlap_ns) / sum(overlap_ns) as mean_bps,
        sum(overlap_ns) / 1e9 as known_s
    from pieces
    group by i_slot, bin_ns
    having sum(overlap_ns) > 0
    order by i_slot
