-- purpose: the byte series that stands for each port and direction, and the link whose traffic it counts
-- params: host text = null: only this host
-- returns: series_id, host, device, port, direction, layer, kind, raw_scale, width_bits, link_id,
--   link_direction, capacity_bps
-- order: host, device, port, direction, series_id, link_id
--
-- Sums of flows of captures (view flow_parts), which have no samples of their own, are left out.
select
    port_series.series_id,
    port_series.host,
    port_series.device,
    port_series.port,
    port_series.direction,
    port_series.layer,
    port_series.kind,
    port_series.raw_scale,
    port_series.width_bits,
    link_series.link_id,
    link_series.direction as link_direction,
    links.capacity_bps
from port_series
left join link_series on port_series.series_id = link_series.series_id
left join links on link_series.link_id = links.link_id
where
    ($host is null or port_series.host = $host)
    and port_series.series_id in (select series.series_id from series)
order by
    port_series.host,
    port_series.device,
    port_series.port,
    port_series.direction,
    port_series.series_id,
    link_series.link_id
