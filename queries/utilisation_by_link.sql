-- purpose: percentiles of each link's utilisation over time
-- params: link_id text = null: only this link
-- params: since time = null: reads from this time on, in UTC or with an offset, such as 2026-11-30T08:00
-- params: until time = null: reads up to this time, such as 2026-11-30T10:00+02:00
-- params: bin_s bin = 1: time over which utilisation is a mean; 0: the reads' own windows
-- returns: link_id, direction, tier, capacity_bps, layer, refresh_s, repeated_frac, observed_s, unknown_s,
--   mean_frac, p50_frac, p90_frac, p95_frac, p99_frac, max_frac, full_frac
-- order: p99_frac desc nulls last, link_id, direction
--
-- A part of the capacity: p90_frac was not exceeded in nine tenths of the time, by means over bin_s, or over
-- the reads' own windows where these are longer, to a thousandth of the capacity; shorter bins show higher
-- peaks. full_frac: the part of the time at 95 % or more. unknown_s: time in which it is not known when the
-- bytes moved, or of which too little was read for a mean. Null without a capacity.
--
-- refresh_s: the interval at which the counter itself is copied, whose ticks are used then. Null where none
-- was found, or no analysis has looked for one: of a counter copied more slowly than it is read, percentiles
-- are then wrong by up to an interval's bytes in each bin: make bins of many. repeated_frac tells of which
-- this is so, that of query profiles_by_series. See function link_loads.
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
)

select
    ranked.link_id,
    ranked.direction,
    links.tier,
    ranked.capacity_bps,
    ranked.layer,
    max(ranked.refresh_s) as refresh_s,
    max(profiles.repeated_frac) as repeated_frac,
    cast(sum(ranked.load_ns) as bigint) / 1e9 as observed_s,
    coalesce(cast(sum(ranked.load_ns) filter (where ranked.load_permille is null) as bigint), 0) / 1e9
        as unknown_s,
    sum(ranked.bytes) * 8e9 / sum(ranked.load_ns) / nullif(ranked.capacity_bps, 0) as mean_frac,
    min(ranked.load_permille) filter (where ranked.so_far_ns >= 0.5 * ranked.known_ns) / 1000 as p50_frac,
    min(ranked.load_permille) filter (where ranked.so_far_ns >= 0.9 * ranked.known_ns) / 1000 as p90_frac,
    min(ranked.load_permille) filter (where ranked.so_far_ns >= 0.95 * ranked.known_ns) / 1000 as p95_frac,
    min(ranked.load_permille) filter (where ranked.so_far_ns >= 0.99 * ranked.known_ns) / 1000 as p99_frac,
    max(ranked.load_permille) / 1000 as max_frac,
    coalesce(cast(sum(ranked.load_ns) filter (where ranked.load_permille >= 950) as double), 0)
    / any_value(ranked.known_ns) as full_frac
from ranked
inner join links on ranked.link_id = links.link_id
left join profiles on ranked.series_id = profiles.series_id
where $link_id is null or ranked.link_id = $link_id
group by ranked.link_id, ranked.direction, links.tier, ranked.capacity_bps, ranked.layer
order by p99_frac desc nulls last, ranked.link_id asc, ranked.direction asc
