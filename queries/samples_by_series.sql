-- purpose: what was read of each series: how many reads, over what time, how evenly, with which flags
-- params: host text = null: only this host
-- params: since time = null: reads from this time on, in UTC or with an offset, such as 2026-11-30T08:00
-- params: until time = null: reads up to this time, such as 2026-11-30T10:00+02:00
-- returns: series_id, host, device, port, direction, metric, layer, n_samples, first_ns, last_ns, span_s,
--   step_s, n_gaps, unread_s, longest_gap_s, n_missed, n_resets, n_flagged
-- order: host, device, port, direction, metric, layer, series_id
--
-- step_s is the median time between reads, to 1 %, a gap a step of more than three times that, and unread_s
-- by how much gaps are longer than it; see function series_coverage. A series without a read has n_samples 0.
with covered as (
    select *
    from series_coverage(
        (select epoch_ns(cast($since as timestamp_ns))), (select epoch_ns(cast($until as timestamp_ns)))
    )
)

select
    series.series_id,
    series.host,
    series.device,
    series.port,
    series.direction,
    series.metric,
    series.layer,
    coalesce(covered.n_samples, 0) as n_samples,
    covered.first_ns,
    covered.last_ns,
    (covered.last_ns - covered.first_ns) / 1e9 as span_s,
    covered.step_s,
    covered.n_gaps,
    covered.unread_s,
    covered.longest_gap_s,
    coalesce(covered.n_missed, 0) as n_missed,
    coalesce(covered.n_resets, 0) as n_resets,
    coalesce(covered.n_flagged, 0) as n_flagged
from series
left join covered on series.series_id = covered.series_id
where $host is null or series.host = $host
order by
    series.host,
    series.device,
    series.port,
    series.direction,
    series.metric,
    series.layer,
    series.series_id
