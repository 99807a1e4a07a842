-- purpose: the own clock of each counter that is copied by one, over each time in which it counts
-- params: first_ns integer: those of reads from here on; null: from the first
-- params: last_ns integer: those of reads up to here; null: to the last
-- returns: series_id, from_ns, to_ns (the time in which it counts, both ends in it), refresh_s, knots_ns,
--   knots_ticks (of all the time in which it was found)
-- example: from clocks(null, null)
--
-- Of the time analysed last, table profiles, and of closed time ranges before, profile_history. Between two
-- knots, which are times of reads, the clock ticks evenly. An instant has one clock or none, that of what
-- was analysed last: the present before the history, whose ranges it overlaps after a change of the window,
-- and of the history the latest analysis. An analysis that found no clock counts as well.
create macro clocks(first_ns, last_ns) as table
    with clocked as (
        select series_id from profiles
        where refresh_s is not null
        union
        select series_id from profile_history
        where refresh_s is not null
    ),

    present as (
        select
            series_id,
            coalesce(from_ns, knots_ns[1]) as range_ns,
            9223372036854775807 as analysed_ns,
            coalesce(knots_ns[1], from_ns) as from_ns,
            coalesce(knots_ns[-1], to_ns) as to_ns,
            refresh_s,
            knots_ns,
            knots_ticks
        from profiles
        where series_id in (select clocked.series_id from clocked)
    ),

    known as (
        select * from present
        where from_ns <= to_ns
        union all
        select
            profile_history.series_id,
            profile_history.from_ns as range_ns,
            profile_history.analysed_ns,
            coalesce(profile_history.knots_ns[1], profile_history.from_ns) as from_ns,
            coalesce(profile_history.knots_ns[-1], profile_history.to_ns - 1) as to_ns,
            profile_history.refresh_s,
            profile_history.knots_ns,
            profile_history.knots_ticks
        from profile_history
        left join present on profile_history.series_id = present.series_id
        where
            profile_history.series_id in (select clocked.series_id from clocked)
            -- Of a range within the present nothing counts.
            and coalesce(
                coalesce(profile_history.knots_ns[1], profile_history.from_ns) < present.from_ns
                or coalesce(profile_history.knots_ns[-1], profile_history.to_ns - 1) > present.to_ns,
                true
            )
    ),

    marked as (
        select
            series_id,
            range_ns,
            analysed_ns,
            from_ns,
            to_ns,
            case
                when from_ns <= max(to_ns) over (
                    partition by series_id
                    order by from_ns, to_ns
                    rows between unbounded preceding and 1 preceding
                ) then 0
                else 1
            end as n_apart
        from known
    ),

    -- Those that overlap, one the next, are of one stretch; most have one of their own.
    ranges as (
        select
            *,
            sum(n_apart) over (partition by series_id order by from_ns, to_ns) as i_stretch
        from marked
    ),

    cuts as (
        select
            ranges.series_id,
            ranges.range_ns,
            ranges.analysed_ns,
            ranges.from_ns,
            newer.from_ns as cut_ns,
            newer.to_ns as until_ns
        from ranges
        inner join ranges as newer
            on
                ranges.series_id = newer.series_id
                and ranges.i_stretch = newer.i_stretch
                and ranges.from_ns <= newer.to_ns
                and ranges.to_ns >= newer.from_ns
                and (
                    ranges.analysed_ns < newer.analysed_ns
                    or (ranges.analysed_ns = newer.analysed_ns and ranges.range_ns < newer.range_ns)
                )
        union all
        select
            series_id,
            range_ns,
            analysed_ns,
            from_ns,
            to_ns + 1 as cut_ns,
            cast(null as bigint) as until_ns
        from ranges
    ),

    pieces as (
        select
            series_id,
            range_ns,
            analysed_ns,
            cut_ns - 1 as to_ns,
            coalesce(
                1 + max(until_ns) over (
                    partition by series_id, range_ns, analysed_ns
                    order by cut_ns, until_ns
                    rows between unbounded preceding and 1 preceding
                ),
                from_ns
            ) as from_ns
        from cuts
    ),

    chosen as (
        select
            range_ns,
            analysed_ns,
            series_id,
            from_ns,
            to_ns
        from pieces
        where
            from_ns <= to_ns
            and from_ns <= coalesce(last_ns, 9223372036854775807)
            and to_ns >= coalesce(first_ns, -9223372036854775807)
    )

    select
        chosen.series_id,
        chosen.from_ns,
        chosen.to_ns,
        known.refresh_s,
        known.knots_ns,
        known.knots_ticks
    from known
    inner join chosen
        on
            known.series_id = chosen.series_id
            and known.range_ns = chosen.range_ns
            and known.analysed_ns = chosen.analysed_ns
    where known.refresh_s is not null
