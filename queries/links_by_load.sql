-- purpose: the busiest links first, by the traffic measured on them
-- params: n_links count = 50: how many
-- params: since time = null: reads from this time on, in UTC or with an offset, such as 2026-11-30T08:00
-- params: until time = null: reads up to this time, such as 2026-11-30T10:00+02:00
-- params: bin_s bin = 1: time over which p99_bps is of means; 0: the reads' own windows
-- returns: link_id, direction, tier, capacity_bps, layer, refresh_s, mean_bps, p99_bps, utilisation_frac,
--   n_jobs
-- order: utilisation_frac desc nulls last, mean_bps desc, link_id, direction
--
-- A link counted at both ends is measured at one of them, on one layer. p99_bps is of means over bin_s, or
-- over the reads' own windows where these are longer, to a thousandth of the capacity. refresh_s is that of
-- query utilisation_by_link. See function link_loads.
with loads as (
    select *
    from link_loads(
        (select epoch_ns(cast($since as timestamp_ns))),
        (select epoch_ns(cast($until as timestamp_ns))),
        bin_s := $bin_s
    )
),

ranked as (
    select
        *,
        sum(load_ns) filter (where load_permille is not null) over in_order as so_far_ns,
        sum(load_ns) filter (where load_permille is not null)
            over (partition by link_id, direction) as known_ns
    from loads
    window in_order as (partition by link_id, direction order by load_permille nulls last)
),

measured as (
    select
        link_id,
        direction,
        capacity_bps,
        layer,
        max(refresh_s) as refresh_s,
        sum(bytes) * 8e9 / sum(load_ns) as mean_bps,
        min(load_permille) filter (where so_far_ns >= 0.99 * known_ns) * capacity_bps / 1000 as p99_bps
    from ranked
    group by link_id, direction, capacity_bps, layer
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
    measured.link_id,
    measured.direction,
    links.tier,
    measured.capacity_bps,
    measured.layer,
    measured.refresh_s,
    measured.mean_bps,
    measured.p99_bps,
    measured.mean_bps / measured.capacity_bps as utilisation_frac,
    coalesce(crossings.n_jobs, 0) as n_jobs
from measured
inner join links on measured.link_id = links.link_id
left join crossings on measured.link_id = crossings.link_id and measured.direction = crossings.direction
order by
    utilisation_frac desc nulls last,
    measured.mean_bps desc,
    measured.link_id asc,
    measured.direction asc
limit $n_links
