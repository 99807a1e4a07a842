-- purpose: view series_bursts of some series: of the others nothing is read
-- params: chosen list: series_id of each series wanted; null: all
-- returns: the columns of view series_bursts
-- example: from series_bursts_of([1234, 5678]) where is_up
create macro series_bursts_of(chosen) as table
    with span as (
        select
            min(from_ns) as from_ns,
            -- A tick is read after it, up to one interval of the counter's clock.
            max(to_ns) + cast(coalesce(max(refresh_s), 0) * 1e9 as bigint) as to_ns
        from profiles
    ),

    counted as (
        from rates_between(
            (select span.from_ns from span), (select span.to_ns from span), chosen := chosen
        )
    ),

    captured as (
        from flow_rates(
            (select span.from_ns from span), (select span.to_ns from span), chosen := chosen
        )
    ),

    -- Joined before they stand together: the other way round takes a gigabyte more.
    windows as (
        select
            counted.series_id,
            counted.t_ns,
            counted.window_ns,
            counted.bytes,
            counted.rate_bps
        from profiles
        inner join counted
            on
                profiles.series_id = counted.series_id
                and counted.t_ns - counted.window_ns
                >= coalesce(profiles.from_ns, counted.t_ns - counted.window_ns)
                and counted.t_ns <= coalesce(profiles.to_ns, counted.t_ns)
        union all
        select
            captured.series_id,
            captured.t_ns,
            captured.window_ns,
            captured.bytes,
            captured.rate_bps
        from profiles
        inner join captured
            on
                profiles.series_id = captured.series_id
                and profiles.from_ns <= captured.t_ns - captured.window_ns
                and profiles.to_ns >= captured.t_ns
    ),

    thresholds as (
        select
            series_id,
            coalesce(max(rate_bps) filter (where kind = 'down'), 0) as down_bps,
            min(rate_bps) filter (where kind = 'up') as burst_bps
        from phases
        group by series_id
    )

    select
        windows.series_id,
        windows.t_ns,
        windows.window_ns,
        windows.bytes,
        windows.rate_bps,
        thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as up_bps,
        windows.rate_bps > thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10
            as is_up,
        thresholds.burst_bps
    from windows
    left join thresholds on windows.series_id = thresholds.series_id
