-- purpose: the Up and Down phases of every series with a period
-- params: host text = null: only this host
-- returns: series_id, host, device, port, direction, layer, period_s, i_phase, kind, start_s, width_s,
--   width_low_s, width_high_s, rate_bps, peak_bps
-- order: host, device, port, direction, layer, series_id, i_phase
select
    phases.series_id,
    series.host,
    series.device,
    series.port,
    series.direction,
    series.layer,
    profiles.period_s,
    phases.i_phase,
    phases.kind,
    phases.start_s,
    phases.width_s,
    phases.width_low_s,
    phases.width_high_s,
    phases.rate_bps,
    phases.peak_bps
from phases
inner join profiles on phases.series_id = profiles.series_id
left join series on phases.series_id = series.series_id
where $host is null or series.host = $host
order by
    series.host,
    series.device,
    series.port,
    series.direction,
    series.layer,
    phases.series_id,
    phases.i_phase
