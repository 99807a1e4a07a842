-- purpose: the flows of captures that are of jobs found by their beat, on whose paths their series are
-- params: none
-- returns: flow_id, job_id, jobs
-- order: none
--
-- A series is of a pair of addresses or of one flow, at one point of capture. job_id is null where several
-- jobs were found in it; jobs names them.
with found as (
    select
        series.host as src,
        series.device,
        series.port as capture_point,
        string_agg(distinct paths.job_id, ', ' order by paths.job_id) as jobs,
        case when count(distinct paths.job_id) = 1 then any_value(paths.job_id) end as job_id
    from paths
    inner join link_series on paths.link_id = link_series.link_id and paths.direction = link_series.direction
    inner join series on link_series.series_id = series.series_id
    where series.layer = 'capture'
    group by series.host, series.device, series.port
),

named as (
    select
        flow_id,
        src,
        dst,
        coalesce(point, '') as capture_point,
        dst
        || ' '
        || case proto
            when 1 then 'icmp'
            when 6 then 'tcp'
            when 17 then 'udp'
            when 27 then 'ib'
            when 47 then 'gre'
            when 58 then 'icmp6'
            when 132 then 'sctp'
            else cast(proto as varchar)
        end
        || coalesce(
            ' '
            || case
                when sport is not null or dport is not null
                    then concat(
                        coalesce(cast(sport as varchar), 'None'),
                        '>',
                        coalesce(cast(dport as varchar), 'None')
                    )
            end,
            ''
        )
        || coalesce(' qp ' || qp, '') as device
    from flows
)

select distinct
    named.flow_id,
    found.job_id,
    found.jobs
from named
inner join found
    on
        named.src = found.src
        and named.capture_point = found.capture_point
        and (named.dst = found.device or named.device = found.device)
