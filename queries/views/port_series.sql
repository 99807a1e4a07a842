-- purpose: one byte series for each port and direction: that of the layer which sees most of a training
--   job's traffic
-- params: none
-- returns: series_id, host, device, port, direction, layer, kind, raw_scale, width_bits
-- order: none
--
-- RDMA bypasses the kernel's netdev counters, so the adapter's own counters come first. Of one layer, what
-- counts bytes comes before a gauge of bytes/s, which its source has averaged. The sum of a job's flows of
-- captures (view flow_parts) stands for the port that they leave where nothing else counts it.
with byte_series as (
    select
        series_id,
        host,
        device,
        port,
        direction,
        layer,
        kind,
        raw_scale,
        width_bits
    from series
    where
        (unit = 'bytes' and metric = 'bytes' and kind in ('counter', 'delta'))
        or (unit = 'bytes/s' and kind = 'gauge')
    union all
    select distinct
        series_id,
        host,
        device,
        port,
        'transmit' as direction,
        'capture' as layer,
        'delta' as kind,
        1.0 as raw_scale,
        cast(null as smallint) as width_bits
    from flow_parts
),

ranked as (
    select
        *,
        row_number() over (
            partition by host, device, port, direction
            order by
                list_position(
                    ['rdma_vport', 'wire', 'netdev', 'socket', 'capture', 'collective'], layer
                ) nulls last,
                kind = 'gauge',
                series_id
        ) as choice
    from byte_series
)

select
    series_id,
    host,
    device,
    port,
    direction,
    layer,
    kind,
    raw_scale,
    width_bits
from ranked
where choice = 1
