-- purpose: the byte series that carry what one job, and no other, transmits
-- params: none
-- returns: job_id, link_id, direction, series_id, weight_frac
-- order: none
--
-- They stand on the links that leave the job's own ports: the host's transmit counter, or the receive
-- counter of the switch port that faces it. weight_frac is the series' rate over the transmit rate of one
-- rank.
with sending_ends as (
    select distinct
        job_id,
        host || ':' || device || case when port != '' then '/' || port else '' end as link_end
    from placements
),

leaving as (
    select
        sending_ends.job_id,
        links.link_id,
        case when links.a = sending_ends.link_end then 'forward' else 'backward' end as direction
    from sending_ends
    inner join links on sending_ends.link_end in (links.a, links.b)
),

owned as (
    select
        link_id,
        direction,
        any_value(job_id) as job_id
    from leaving
    group by link_id, direction
    having count(distinct job_id) = 1
)

select
    owned.job_id,
    owned.link_id,
    owned.direction,
    link_series.series_id,
    paths.weight_frac
from owned
inner join paths
    on owned.job_id = paths.job_id and owned.link_id = paths.link_id and owned.direction = paths.direction
inner join link_series on owned.link_id = link_series.link_id and owned.direction = link_series.direction
