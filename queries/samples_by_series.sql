-- purpose: what was read of each series: how many reads, over what time, how evenly, with which flags
-- params: host text = null: only this host
-- returns: series_id, host, device, port, direction, metric, layer, n_samples, first_ns, last_ns, span_s,
--   step_s, longest_gap_s, n_missed, n_resets, n_flagged
-- order: host, device, port, direction, metric, layer, series_id
--
-- step_s is the median time between reads. A series without a read has n_samples 0.
with steps as (
    select
        series_id,
        t_ns,
        flags,
        epoch,
        t_ns - lag(t_ns) over (partition by series_id order by t_ns) as step_ns
    from samples
),

totals as (
    select
        series_id,
        count(*) as n_samples,
        min(t_ns) as first_ns,
        max(t_ns) as last_ns,
        (max(t_ns) - min(t_ns)) / 1e9 as span_s,
        median(step_ns) / 1e9 as step_s,
        max(step_ns) / 1e9 as longest_gap_s,
        count(*) filter (where (flags & 8) != 0) as n_missed,
        count(*) filter (where (flags & 1) != 0) as n_resets,
        count(*) filter (where flags != 0) as n_flagged
    from steps
    group by series_id
)

select
    series.series_id,
    series.host,
    series.device,
    series.port,
    series.direction,
    series.metric,
    series.layer,
    coalesce(totals.n_samples, 0) as n_samples,
    totals.first_ns,
    totals.last_ns,
    totals.span_s,
    totals.step_s,
    totals.longest_gap_s,
    coalesce(totals.n_missed, 0) as n_missed,
    coalesce(totals.n_resets, 0) as n_resets,
    coalesce(totals.n_flagged, 0) as n_flagged
from series
left join totals on series.series_id = totals.series_id
where $host is null or series.host = $host
order by
    series.host,
    series.device,
    series.port,
    series.direction,
    series.metric,
    series.layer,
    series.series_id
