-- purpose: each time in which a counter was not read as usual, the longest first
-- params: host text = null: only this host
-- params: since time = null: reads from this time on, in UTC or with an offset, such as 2026-11-30T08:00
-- params: until time = null: reads up to this time, such as 2026-11-30T10:00+02:00
-- params: n_gaps count = 1000: how many
-- returns: host, device, port, direction, metric, layer, series_id, start_ns, started_at, end_ns, gap_s,
--   step_s, unread_s, is_reset
-- order: gap_s desc, start_ns, host, device, port, direction, metric, layer, series_id
--
-- A gap is a step of more than three times the median of the series, step_s; gap_s is its whole length,
-- unread_s what is longer than a usual step, as in query coverage_by_host. Of counters and gauges: a source
-- of deltas writes a silence as one row. is_reset: the counter began anew after.
with covered as (
    select *
    from series_coverage(
        (select epoch_ns(cast($since as timestamp_ns))), (select epoch_ns(cast($until as timestamp_ns)))
    )
),

usual as (
    select
        series_id,
        step_s
    from covered
    where n_gaps > 0
),

steps as (
    select
        series_id,
        t_ns,
        flags,
        t_ns - lag(t_ns) over (partition by series_id order by t_ns) as step_ns
    from samples
    where
        t_ns >= coalesce(epoch_ns(cast($since as timestamp_ns)), -9223372036854775807)
        and t_ns <= coalesce(epoch_ns(cast($until as timestamp_ns)), 9223372036854775807)
)

select
    series.host,
    series.device,
    series.port,
    series.direction,
    series.metric,
    series.layer,
    series.series_id,
    steps.t_ns - steps.step_ns as start_ns,
    make_timestamp_ns(steps.t_ns - steps.step_ns) as started_at,
    steps.t_ns as end_ns,
    steps.step_ns / 1e9 as gap_s,
    usual.step_s,
    steps.step_ns / 1e9 - usual.step_s as unread_s,
    (steps.flags & 1) != 0 as is_reset
from steps
inner join usual on steps.series_id = usual.series_id
inner join series on steps.series_id = series.series_id
where steps.step_ns > 3e9 * usual.step_s and ($host is null or series.host = $host)
order by
    gap_s desc,
    start_ns asc,
    series.host asc,
    series.device asc,
    series.port asc,
    series.direction asc,
    series.metric asc,
    series.layer asc,
    series.series_id asc
limit $n_gaps
