-- purpose: how much of the time each host's counters were read, with their gaps, losses and resets
-- params: host text = null: only this host
-- params: since time = null: reads from this time on, in UTC or with an offset, such as 2026-11-30T08:00
-- params: until time = null: reads up to this time, such as 2026-11-30T10:00+02:00
-- returns: host, n_series, n_silent, n_samples, first_ns, first_at, last_ns, last_at, span_s, covered_frac,
--   n_gaps, unread_s, longest_gap_s, n_missed, n_resets, n_flagged, n_repeating
-- order: host
--
-- n_silent: series without a read. covered_frac: the part of the host's span, first read to last, that its
-- series cover, each from its own first read to its last but for its gaps; 1 if all were read all the time.
-- unread_s: by how much gaps are longer than a usual step, summed over series. The gaps themselves: query
-- gaps_by_host. n_repeating: series of which readings repeat the one before amid traffic, at no interval that
-- offbeat analyze found, so that their single rates are noise: see query profiles_by_series.
with covered as (
    select *
    from series_coverage(
        (select epoch_ns(cast($since as timestamp_ns))), (select epoch_ns(cast($until as timestamp_ns)))
    )
),

hosts as (
    select
        series.host,
        count(*) as n_series,
        count(*) filter (where covered.n_samples is null) as n_silent,
        cast(coalesce(sum(covered.n_samples), 0) as bigint) as n_samples,
        min(covered.first_ns) as first_ns,
        max(covered.last_ns) as last_ns,
        sum((covered.last_ns - covered.first_ns) / 1e9 - coalesce(covered.unread_s, 0)) as read_s,
        cast(coalesce(sum(covered.n_gaps), 0) as bigint) as n_gaps,
        coalesce(sum(covered.unread_s), 0) as unread_s,
        max(covered.longest_gap_s) filter (where covered.n_gaps > 0) as longest_gap_s,
        cast(coalesce(sum(covered.n_missed), 0) as bigint) as n_missed,
        cast(coalesce(sum(covered.n_resets), 0) as bigint) as n_resets,
        cast(coalesce(sum(covered.n_flagged), 0) as bigint) as n_flagged,
        count(profiles.repeated_frac) as n_repeating
    from series
    left join covered on series.series_id = covered.series_id
    left join profiles on series.series_id = profiles.series_id
    where $host is null or series.host = $host
    group by series.host
)

select
    host,
    n_series,
    n_silent,
    n_samples,
    first_ns,
    make_timestamp_ns(first_ns) as first_at,
    last_ns,
    make_timestamp_ns(last_ns) as last_at,
    (last_ns - first_ns) / 1e9 as span_s,
    read_s / nullif((last_ns - first_ns) / 1e9 * n_series, 0) as covered_frac,
    n_gaps,
    unread_s,
    longest_gap_s,
    n_missed,
    n_resets,
    n_flagged,
    n_repeating
from hosts
order by host
