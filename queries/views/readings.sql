-- purpose: counter readings with the name of what they count, and their time as a timestamp (UTC)
-- params: none
-- returns: series_id, host, device, port, direction, metric, layer, read_at, t_ns, value, unit, flags,
--   epoch
-- order: none
select
    samples.series_id,
    series.host,
    series.device,
    series.port,
    series.direction,
    series.metric,
    series.layer,
    make_timestamp_ns(samples.t_ns) as read_at,
    samples.t_ns,
    samples.value,
    series.unit,
    samples.flags,
    samples.epoch
from samples
inner join series on samples.series_id = series.series_id
