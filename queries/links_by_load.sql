-- purpose: the busiest links first, by the traffic measured on them
-- params: n_links integer = 50: how many
-- returns: link_id, direction, tier, capacity_bps, layer, mean_bps, p99_bps, utilisation_frac, n_jobs
-- order: utilisation_frac desc nulls last, mean_bps desc, link_id, direction
--
-- A link counted at both ends is measured at one of them, on one layer. p99_bps is over the reads' own
-- windows.
with counted as (
    select
        link_id,
        direction,
        min(series_id) as series_id
    from link_series
    group by link_id, direction
),

loads as (
    select
        counted.link_id,
        counted.direction,
        any_value(rates.layer) as layer,
        sum(rates.bytes) * 8e9 / sum(rates.window_ns) as mean_bps,
        quantile_cont(rates.rate_bps, 0.99) as p99_bps
    from counted
    inner join rates on counted.series_id = rates.series_id
    group by counted.link_id, counted.direction
),

crossings as (
    select
        link_id,
        direction,
        count(*) as n_jobs
    from paths
    group by link_id, direction
)

select
    loads.link_id,
    loads.direction,
    links.tier,
    links.capacity_bps,
    loads.layer,
    loads.mean_bps,
    loads.p99_bps,
    loads.mean_bps / links.capacity_bps as utilisation_frac,
    coalesce(crossings.n_jobs, 0) as n_jobs
from loads
inner join links on loads.link_id = links.link_id
left join crossings on loads.link_id = crossings.link_id and loads.direction = crossings.direction
order by utilisation_frac desc nulls last, loads.mean_bps desc, loads.link_id asc, loads.direction asc
limit $n_links
