-- purpose: how long each link was loaded by how much, in each direction
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- returns: link_id, direction, capacity_bps, series_id, layer, load_permille integer (of the capacity,
--   rounded; null where the rate or the capacity is not known), load_ns integer (for so long), bytes integer
-- example: from link_loads(null, null) where load_permille > 950
--
-- A link counted at both ends is measured at one of them, on one layer; what counts bytes comes before a
-- gauge. Rates are means over the reads' own windows.
create macro link_loads(first_ns, last_ns) as table
    with counted as (
        select
            link_series.link_id,
            link_series.direction,
            arg_min(link_series.series_id, (port_series.kind = 'gauge', link_series.series_id)) as series_id
        from link_series
        inner join port_series on link_series.series_id = port_series.series_id
        group by link_series.link_id, link_series.direction
    ),

    windows as (
        select
            series_id,
            layer,
            window_ns,
            bytes,
            rate_bps
        from rates_between(first_ns, last_ns)
    ),

    loads as (
        select
            counted.link_id,
            counted.direction,
            links.capacity_bps,
            counted.series_id,
            windows.layer,
            windows.window_ns,
            windows.bytes,
            cast(round(windows.rate_bps * 1000 / nullif(links.capacity_bps, 0)) as bigint) as load_permille
        from counted
        inner join links on counted.link_id = links.link_id
        inner join windows on counted.series_id = windows.series_id
    )

    select
        link_id,
        direction,
        capacity_bps,
        series_id,
        layer,
        load_permille,
        cast(sum(window_ns) as bigint) as load_ns,
        cast(sum(bytes) as bigint) as bytes
    from loads
    group by link_id, direction, capacity_bps, series_id, layer, load_permille
