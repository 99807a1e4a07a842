-- purpose: traffic measured on each link that no job placed there accounts for, the most first
-- params: link_id text = null: only this link
-- params: min_bps real = 0: only links with more unplaced traffic than this
-- returns: link_id, direction, tier, capacity_bps, mean_bps, n_jobs, jobs, placed_bps, n_unknown,
--   unplaced_bps, unplaced_frac
-- order: unplaced_bps desc, link_id, direction
--
-- Over the time that was analysed, or all time before an analysis. placed_bps: what the profiles of the
-- link's jobs put on it (view link_jobs); n_unknown: jobs of which that is not known, so that their traffic
-- is among the unplaced. Negative where jobs put less on the link than their profiles say. unplaced_frac: of
-- the measured.
with span as (
    select
        min(from_ns) as from_ns,
        max(to_ns) as to_ns
    from profiles
),

moved as (
    select
        series_id,
        sum(bytes) * 8e9 / sum(window_ns) as mean_bps
    from metered_rates((select span.from_ns from span), (select span.to_ns from span))
    group by series_id
),

measured as (
    select
        link_meters.link_id,
        link_meters.direction,
        link_meters.capacity_bps,
        moved.mean_bps
    from link_meters
    inner join moved on link_meters.series_id = moved.series_id
    where $link_id is null or link_meters.link_id = $link_id
),

placed as (
    select
        link_id,
        direction,
        count(*) as n_jobs,
        string_agg(job_id, ', ' order by job_id) as jobs,
        coalesce(sum(mean_bps), 0) as placed_bps,
        count(*) filter (where mean_bps is null) as n_unknown
    from link_jobs
    group by link_id, direction
),

compared as (
    select
        measured.link_id,
        measured.direction,
        links.tier,
        measured.capacity_bps,
        measured.mean_bps,
        coalesce(placed.n_jobs, 0) as n_jobs,
        placed.jobs,
        coalesce(placed.placed_bps, 0) as placed_bps,
        coalesce(placed.n_unknown, 0) as n_unknown,
        round(measured.mean_bps - coalesce(placed.placed_bps, 0)) as unplaced_bps
    from measured
    inner join links on measured.link_id = links.link_id
    left join placed on measured.link_id = placed.link_id and measured.direction = placed.direction
)

select
    link_id,
    direction,
    tier,
    capacity_bps,
    mean_bps,
    n_jobs,
    jobs,
    placed_bps,
    n_unknown,
    unplaced_bps,
    unplaced_bps / nullif(mean_bps, 0) as unplaced_frac
from compared
where unplaced_bps > $min_bps or $min_bps = 0
order by unplaced_bps desc, link_id asc, direction asc
