-- purpose: the byte series by which each link is measured in each direction
-- params: none
-- returns: link_id, direction, capacity_bps, series_id, layer
-- order: none
--
-- A link counted at both ends is measured at one of them, on one layer; what counts bytes comes before a
-- gauge.
select
    link_series.link_id,
    link_series.direction,
    any_value(links.capacity_bps) as capacity_bps,
    arg_min(link_series.series_id, (port_series.kind = 'gauge', link_series.series_id)) as series_id,
    arg_min(port_series.layer, (port_series.kind = 'gauge', link_series.series_id)) as layer
from link_series
inner join port_series on link_series.series_id = port_series.series_id
inner join links on link_series.link_id = links.link_id
group by link_series.link_id, link_series.direction
