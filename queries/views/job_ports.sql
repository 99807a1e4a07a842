-- purpose: the byte series of host ports that carry one job and no other, in both directions
-- params: none
-- returns: job_id, link_id, direction, host_direction, peer, series_id, weight_frac
-- order: none
--
-- host_direction is seen from the host: transmit for what leaves it, receive for what arrives; the counter
-- is the host's, or that of the switch port that faces it. peer is the node at the link's other end.
-- weight_frac is the series' rate over the transmit rate of one rank.
with host_ends as (
    select distinct
        job_id,
        host || ':' || device || case when port != '' then '/' || port else '' end as host_end
    from placements
),

owned as (
    select
        host_end,
        any_value(job_id) as job_id
    from host_ends
    group by host_end
    having count(*) = 1
),

attached as (
    select
        owned.job_id,
        links.link_id,
        links.a = owned.host_end as is_at_a,
        split_part(case when links.a = owned.host_end then links.b else links.a end, ':', 1) as peer
    from owned
    inner join links on owned.host_end in (links.a, links.b)
)

select
    attached.job_id,
    attached.link_id,
    paths.direction,
    case when attached.is_at_a = (paths.direction = 'forward') then 'transmit' else 'receive' end
        as host_direction,
    attached.peer,
    link_series.series_id,
    paths.weight_frac
from attached
inner join paths on attached.job_id = paths.job_id and attached.link_id = paths.link_id
inner join link_series on paths.link_id = link_series.link_id and paths.direction = link_series.direction
