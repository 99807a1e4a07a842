-- purpose: the analysed series that counts what a job puts on a link in one direction, where there is one
-- params: none
-- returns: link_id, direction, job_id, series_id, weight_frac
-- order: none
--
-- On a link of the job's own hosts, the counter of that link and direction. On any other link, that of a
-- host port at one of its two nodes: transmit where the traffic comes from, receive where it goes to, by
-- the symmetry of a ring, in which every rank sends alike. Of several, the job's best-known series, else
-- the one known best. Links between switches without such a port have no row.
with ends as (
    select
        paths.link_id,
        paths.direction,
        paths.job_id,
        split_part(case when paths.direction = 'forward' then links.a else links.b end, ':', 1) as from_node,
        split_part(case when paths.direction = 'forward' then links.b else links.a end, ':', 1) as to_node
    from paths
    inner join links on paths.link_id = links.link_id
),

trunks as (
    select
        link_id,
        direction,
        job_id,
        from_node,
        to_node
    from ends
    where
        from_node not in (select placements.host from placements)
        and to_node not in (select placements.host from placements)
),

counters as (
    select
        ends.link_id,
        ends.direction,
        ends.job_id,
        job_ports.series_id,
        job_ports.weight_frac
    from ends
    inner join job_ports
        on
            ends.job_id = job_ports.job_id
            and ends.link_id = job_ports.link_id
            and ends.direction = job_ports.direction
    union all
    select
        trunks.link_id,
        trunks.direction,
        trunks.job_id,
        job_ports.series_id,
        job_ports.weight_frac
    from trunks
    inner join job_ports
        on
            trunks.job_id = job_ports.job_id
            and (
                (job_ports.host_direction = 'transmit' and trunks.from_node = job_ports.peer)
                or (job_ports.host_direction = 'receive' and trunks.to_node = job_ports.peer)
            )
),

ranked as (
    select
        counters.*,
        row_number() over (
            partition by counters.link_id, counters.direction, counters.job_id
            order by
                counters.series_id is not distinct from job_profiles.series_id desc,
                profiles.status = 'periodic' desc,
                profiles.confidence desc nulls last,
                counters.series_id asc
        ) as choice
    from counters
    inner join profiles on counters.series_id = profiles.series_id
    left join job_profiles on counters.job_id = job_profiles.job_id
)

select
    link_id,
    direction,
    job_id,
    series_id,
    weight_frac
from ranked
where choice = 1
