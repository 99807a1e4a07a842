-- purpose: how long each link was loaded by how much, in each direction
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- params: bin_s real = 1: time over which loads are means; 0: the windows of view rates
-- returns: link_id, direction, capacity_bps, series_id, layer, load_permille integer (of the capacity,
--   rounded; null where the rate or the capacity is not known), load_ns integer (for so long), bytes integer,
--   refresh_s (interval of the counter's own clock, the longest; null: none is known)
-- example: from link_loads(null, null) where load_permille > 950
--
-- Each link is measured as in view link_meters. The bytes of a window are spread evenly over it and shared
-- among bins, whole multiples of bin_s since the epoch: in windows that are short for how exactly their ends
-- are known, rates are noise. A bin of which less than half was observed is not known. Windows whose rate is
-- not known are left as they are.
create macro link_loads(first_ns, last_ns, bin_s := 1) as table
    with windows as (
        select
            series_id,
            t_ns,
            window_ns,
            bytes,
            rate_bps,
            refresh_s,
            -- Windows of counters are between reads, and so do not overlap.
            kind = 'counter' as is_alone
        from metered_rates(first_ns, last_ns)
    ),

    neighbours as (
        select
            *,
            lag(t_ns) over in_time as before_end_ns,
            lag(case when rate_bps is not null and is_alone then window_ns end) over in_time as before_ns,
            lag(bytes) over in_time as before_bytes,
            lead(t_ns) over in_time as after_end_ns,
            lead(case when rate_bps is not null and is_alone then window_ns end) over in_time as after_ns
        from windows
        window in_time as (partition by series_id order by t_ns)
    ),

    placed as (
        select
            *,
            t_ns - window_ns as start_ns,
            case when rate_bps is not null and bin_s > 0 then cast(bin_s * 1e9 as bigint) end as bin_ns,
            (t_ns - window_ns) // bin_ns as i_first,
            (t_ns - 1) // bin_ns as i_last
        from neighbours
    ),

    -- A bin that holds the end of one window, the beginning of the next and nothing else is summed up here:
    -- there are about as many bins as reads, too many to group them all.
    paired as (
        select
            *,
            before_end_ns = start_ns and (start_ns - before_ns) // bin_ns < i_first
            and (start_ns - 1) // bin_ns = i_first and i_first < i_last as is_joined,
            after_end_ns - after_ns = t_ns and (after_end_ns - 1) // bin_ns > i_last
            and t_ns // bin_ns = i_last and i_first < i_last as is_taken
        from placed
    ),

    cut as (
        select
            *,
            unnest(
                case
                    when bin_ns is null then [null]
                    when i_first = i_last then [i_last]
                    when i_first + 1 = i_last and is_taken then [i_first]
                    when i_first + 1 = i_last then [i_first, i_last]
                    when is_taken then [i_first, null]
                    else [i_first, null, i_last]
                end
            ) as i_bin
        from paired
    ),

    edged as (
        select
            *,
            greatest(start_ns, coalesce(i_bin, i_first + 1) * bin_ns) as from_ns,
            least(t_ns, coalesce(i_bin + 1, i_last) * bin_ns) as to_ns,
            case when i_bin = i_first and is_joined then start_ns - i_first * bin_ns end as joined_ns
        from cut
    ),

    summed as (
        select
            series_id,
            i_bin,
            refresh_s,
            rate_bps,
            i_bin is null or joined_ns is not null or (is_alone and to_ns - from_ns = bin_ns) as is_whole,
            to_ns - from_ns + coalesce(joined_ns, 0) as piece_ns,
            -- Differences of what came up to each end: no byte is lost or counted twice.
            cast(floor(bytes * ((to_ns - start_ns) / window_ns)) as bigint)
            - cast(floor(bytes * ((from_ns - start_ns) / window_ns)) as bigint)
            + case
                when joined_ns is null then 0
                else
                    cast(floor(cast(before_bytes as double)) as bigint)
                    - cast(floor(before_bytes * ((before_ns - joined_ns) / before_ns)) as bigint)
            end as piece_bytes
        from edged
    ),

    pieces as (
        select
            series_id,
            i_bin,
            refresh_s,
            is_whole,
            piece_ns,
            piece_bytes,
            case
                when i_bin is null then rate_bps
                when 2 * piece_ns >= bin_s * 1e9 then piece_bytes * 8e9 / piece_ns
            end as rate_bps
        from summed
    ),

    capacities as (
        select distinct
            series_id,
            capacity_bps
        from link_meters
    ),

    rated as (
        select
            pieces.series_id,
            pieces.refresh_s,
            pieces.piece_ns,
            pieces.piece_bytes,
            capacities.capacity_bps,
            case when not pieces.is_whole then pieces.i_bin end as i_part,
            case when pieces.is_whole then pieces.rate_bps * 1000 / nullif(capacities.capacity_bps, 0) end
                as permille
        from pieces
        inner join capacities on pieces.series_id = capacities.series_id
    ),

    bins as (
        select
            series_id,
            capacity_bps,
            i_part,
            cast(round(permille) as bigint) as whole_permille,
            max(refresh_s) as refresh_s,
            cast(sum(piece_ns) as bigint) as bin_load_ns,
            cast(sum(piece_bytes) as bigint) as bin_bytes
        from rated
        group by series_id, capacity_bps, i_part, whole_permille
    ),

    loads as (
        select
            series_id,
            capacity_bps,
            case
                when i_part is null then whole_permille
                when 2 * bin_load_ns >= bin_s * 1e9
                    then cast(round(bin_bytes * 8e9 / bin_load_ns * 1000 / nullif(capacity_bps, 0)) as bigint)
            end as load_permille,
            cast(sum(bin_load_ns) as bigint) as load_ns,
            cast(sum(bin_bytes) as bigint) as bytes,
            max(refresh_s) as refresh_s
        from bins
        group by series_id, capacity_bps, load_permille
    )

    select
        link_meters.link_id,
        link_meters.direction,
        link_meters.capacity_bps,
        link_meters.series_id,
        link_meters.layer,
        loads.load_permille,
        loads.load_ns,
        loads.bytes,
        loads.refresh_s
    from link_meters
    inner join loads
        on
            link_meters.series_id = loads.series_id
            and link_meters.capacity_bps is not distinct from loads.capacity_bps
