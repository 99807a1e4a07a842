-- purpose: the iteration period of every series that was analysed, or why it has none
-- params: status text = null: only series of this status, such as periodic
-- returns: series_id, host, device, port, direction, layer, status, period_s, period_low_s, period_high_s,
--   confidence, n_cycles, jitter_frac, mean_bps, peak_bps, duty_frac, refresh_s, repeated_frac, need_more_s,
--   reason
-- order: host, device, port, direction, layer, series_id
--
-- refresh_s: the interval at which the counter itself is copied. repeated_frac: the part of its readings that
-- repeat the one before amid traffic, where no such interval was found: its single rates are nothing or too
-- much in view rates. Sums of a job's flows of captures (view flow_parts) stand under the port that they
-- leave.
with named as (
    select
        series_id,
        host,
        device,
        port,
        direction,
        layer
    from series
    union all
    select distinct
        series_id,
        host,
        device,
        port,
        'transmit' as direction,
        'capture' as layer
    from flow_parts
)

select
    profiles.series_id,
    series.host,
    series.device,
    series.port,
    series.direction,
    series.layer,
    profiles.status,
    profiles.period_s,
    profiles.period_low_s,
    profiles.period_high_s,
    profiles.confidence,
    profiles.n_cycles,
    profiles.jitter_frac,
    profiles.mean_bps,
    profiles.peak_bps,
    profiles.duty_frac,
    profiles.refresh_s,
    profiles.repeated_frac,
    profiles.need_more_s,
    profiles.reason
from profiles
left join named as series on profiles.series_id = series.series_id
where $status is null or profiles.status = $status
order by series.host, series.device, series.port, series.direction, series.layer, profiles.series_id
