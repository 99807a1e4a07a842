-- purpose: the byte series that count a link's traffic in one direction, at either of its ends
-- params: none
-- returns: link_id, direction, link_end, series_id
-- order: none
--
-- Forward is from a to b: what a transmits, or b receives. An end is node:device, or node:device/port where
-- the device has several ports.
with ends as (
    select
        link_id,
        a as link_end,
        'transmit' as seen,
        'forward' as direction
    from links
    union all
    select
        link_id,
        b as link_end,
        'receive' as seen,
        'forward' as direction
    from links
    union all
    select
        link_id,
        b as link_end,
        'transmit' as seen,
        'backward' as direction
    from links
    union all
    select
        link_id,
        a as link_end,
        'receive' as seen,
        'backward' as direction
    from links
),

ports as (
    select
        series_id,
        direction as seen,
        host || ':' || device as link_end
    from port_series
    where port in ('', '1')
    union all
    select
        series_id,
        direction as seen,
        host || ':' || device || '/' || port as link_end
    from port_series
    where port != ''
)

select
    ends.link_id,
    ends.direction,
    ends.link_end,
    ports.series_id
from ends
inner join ports on ends.link_end = ports.link_end and ends.seen = ports.seen
