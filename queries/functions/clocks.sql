-- purpose: the own clock of each counter that is copied by one, over each time in which it was found
-- params: first_ns integer: those of reads from here on; null: from the first
-- params: last_ns integer: those of reads up to here; null: to the last
-- returns: series_id, from_ns, to_ns, refresh_s, knots_ns, knots_ticks
-- example: from clocks(null, null)
--
-- Of the time analysed last, table profiles, and of closed time ranges before, profile_history. Between two
-- knots, which are times of reads, the clock ticks evenly.
create macro clocks(first_ns, last_ns) as table
    with known as (
        select
            series_id,
            refresh_s,
            knots_ns,
            knots_ticks
        from profiles
        where refresh_s is not null
        union all
        select
            series_id,
            refresh_s,
            knots_ns,
            knots_ticks
        from profile_history
        where refresh_s is not null
    )

    select
        series_id,
        knots_ns[1] as from_ns,
        knots_ns[-1] as to_ns,
        refresh_s,
        knots_ns,
        knots_ticks
    from known
    where
        knots_ns[1] <= coalesce(last_ns, 9223372036854775807)
        and knots_ns[-1] >= coalesce(first_ns, -9223372036854775807)
