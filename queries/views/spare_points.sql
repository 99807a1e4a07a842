-- purpose: what each rank sent past points of capture that are left out, as another point stands for its port
-- params: none
-- returns: job_id, host, device, capture_point, bytes, chosen_point, chosen_bytes
-- order: none
--
-- Packets that pass both points would count twice; view flow_points tells how the point is chosen. Where
-- something else counts the port, no point stands for it, and there is no row.
with points as (
    select distinct
        flow_points.job_id,
        flow_points.host,
        flow_points.device,
        flow_points.port,
        flow_points.capture_point,
        flow_points.bytes,
        flow_points.choice
    from flow_points
),

chosen as (
    select distinct
        flow_parts.job_id,
        flow_parts.host,
        flow_parts.device,
        flow_parts.port
    from flow_parts
    inner join port_series on flow_parts.series_id = port_series.series_id
)

select
    spare.job_id,
    spare.host,
    spare.device,
    spare.capture_point,
    spare.bytes,
    points.capture_point as chosen_point,
    points.bytes as chosen_bytes
from points as spare
inner join chosen
    on
        spare.job_id = chosen.job_id
        and spare.host = chosen.host
        and spare.device = chosen.device
        and spare.port = chosen.port
inner join points
    on
        spare.job_id = points.job_id
        and spare.host = points.host
        and spare.device = points.device
        and spare.port = points.port
        and points.choice = 1
where spare.choice > 1
