-- purpose: bytes and rate of every window of the series by which links are measured
-- params: first_ns integer: reads from here on; null: from the first
-- params: last_ns integer: reads up to here; null: to the last
-- returns: series_id, kind, t_ns, window_ns, bytes, rate_bps, refresh_s; as of view rates
-- example: from metered_rates(1796000000000000000, 1796000060000000000)
--
-- Of the series of view link_meters, sums of flows (function flow_rates) among them; a series can measure
-- several links.
create macro metered_rates(first_ns, last_ns) as table
    select
        series_id,
        kind,
        t_ns,
        window_ns,
        bytes,
        rate_bps,
        refresh_s
    from rates_between(first_ns, last_ns)
    where series_id in (select link_meters.series_id from link_meters)
    union all
    select
        series_id,
        'delta' as kind,
        t_ns,
        window_ns,
        bytes,
        rate_bps,
        cast(null as double) as refresh_s
    from flow_rates(first_ns, last_ns, chosen := (select list(link_meters.series_id) from link_meters))
