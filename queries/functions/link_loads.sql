-- purpose: how long each link was loaded by how much, in each direction
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- params: bin_s real = 1: time over which loads are means; 0: the windows of view rates
-- returns: link_id, direction, capacity_bps, series_id, layer, load_permille integer (of the capacity,
--   rounded; null where the rate or the capacity is not known), load_ns integer (for so long), bytes integer,
--   refresh_s (interval of the counter's own clock, the longest; null: none is known)
-- example: from link_loads(null, null) where load_permille > 950
--
-- A link counted at both ends is measured at one of them, on one layer; what counts bytes comes before a
-- gauge. The bytes of a window are spread evenly over it and shared among bins, whole multiples of bin_s
-- since the epoch: in windows that are short for how exactly their ends are known, rates are noise. A bin of
-- which less than half was observed is not known. Windows whose rate is not known are left as they are.
create macro link_loads(first_ns, last_ns, bin_s := 1) as table
    with counted as (
        select
            link_series.link_id,
            link_series.direction,
            arg_min(link_series.series_id, (port_series.kind = 'gauge', link_series.series_id)) as series_id,
            arg_min(port_series.layer, (port_series.kind = 'gauge', link_series.series_id)) as layer
        from link_series
        inner join port_series on link_series.series_id = port_series.series_id
        group by link_series.link_id, link_series.direction
    ),

    windows as (
        select
            series_id,
            t_ns - window_ns as start_ns,
            t_ns as end_ns,
            bytes,
            rate_bps,
            refresh_s,
            case when rate_bps is not null and bin_s > 0 then cast(bin_s * 1e9 as bigint) end as bin_ns
        from rates_between(first_ns, last_ns)
        where series_id in (select counted.series_id from counted)
    ),

    placed as (
        select
            *,
            start_ns // bin_ns as i_first,
            (end_ns - 1) // bin_ns as i_last
        from windows
    ),

    cut as (
        select
            *,
            unnest(
                case
                    when bin_ns is null then [null]
                    when i_first = i_last then [i_last]
                    when i_first + 1 = i_last then [i_first, i_last]
                    else [i_first, null, i_last]
                end
            ) as i_bin
        from placed
    ),

    edged as (
        select
            *,
            greatest(start_ns, coalesce(i_bin, i_first + 1) * bin_ns) as from_ns,
            least(end_ns, coalesce(i_bin + 1, i_last) * bin_ns) as to_ns
        from cut
    ),

    pieces as (
        select
            series_id,
            i_bin,
            refresh_s,
            rate_bps,
            to_ns - from_ns as piece_ns,
            -- Differences of what came up to each end: no byte is lost or counted twice.
            cast(floor(bytes * ((to_ns - start_ns) / (end_ns - start_ns))) as bigint)
            - cast(floor(bytes * ((from_ns - start_ns) / (end_ns - start_ns))) as bigint) as piece_bytes
        from edged
    ),

    -- There are about as many groups as reads: nothing is grouped by, or kept, that is the same for a series.
    bins as (
        select
            series_id,
            max(refresh_s) as refresh_s,
            cast(sum(piece_ns) as bigint) as bin_load_ns,
            cast(sum(piece_bytes) as bigint) as bin_bytes
        from pieces
        where i_bin is not null
        group by series_id, i_bin
    ),

    rated as (
        select
            *,
            case when 2 * bin_load_ns >= bin_s * 1e9 then bin_bytes * 8e9 / bin_load_ns end as rate_bps
        from bins
        union all
        select
            series_id,
            refresh_s,
            piece_ns as bin_load_ns,
            piece_bytes as bin_bytes,
            rate_bps
        from pieces
        where i_bin is null
    ),

    loads as (
        select
            counted.link_id,
            counted.direction,
            links.capacity_bps,
            counted.series_id,
            counted.layer,
            rated.refresh_s,
            rated.bin_load_ns,
            rated.bin_bytes,
            cast(round(rated.rate_bps * 1000 / nullif(links.capacity_bps, 0)) as bigint) as load_permille
        from counted
        inner join links on counted.link_id = links.link_id
        inner join rated on counted.series_id = rated.series_id
    )

    select
        link_id,
        direction,
        capacity_bps,
        series_id,
        layer,
        load_permille,
        cast(sum(bin_load_ns) as bigint) as load_ns,
        cast(sum(bin_bytes) as bigint) as bytes,
        max(refresh_s) as refresh_s
    from loads
    group by link_id, direction, capacity_bps, series_id, layer, load_permille
