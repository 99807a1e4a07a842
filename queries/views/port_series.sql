-- purpose: one byte series for each port and direction: that of the layer which sees most of a training
--   job's traffic
-- params: none
-- returns: series_id, host, device, port, direction, layer, kind, raw_scale, width_bits
-- order: none
--
-- RDMA bypasses the kernel's netdev counters, so the adapter's own counters come first. Of one layer, what
-- counts bytes comes before a gauge of bytes/s, which its source has averaged.
with ranked as (
    select
        series_id,
        host,
        device,
        port,
        direction,
        layer,
        kind,
        raw_scale,
        width_bits,
        row_number() over (
            partition by host, device, port, direction
            order by
                list_position(
                    ['rdma_vport', 'wire', 'netdev', 'socket', 'capture', 'collective'], layer
                ) nulls last,
                kind = 'gauge',
                series_id
        ) as choice
    from series
    where
        (unit = 'bytes' and metric = 'bytes' and kind in ('counter', 'delta'))
        or (unit = 'bytes/s' and kind = 'gauge')
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
