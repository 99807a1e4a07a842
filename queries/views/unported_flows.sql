-- purpose: flows of jobs that are sent from an address of which it is not known at which of several ports of
--   the host it is
-- params: none
-- returns: job_id, host, address, ports, n_flows, bytes
-- order: none
--
-- ports names those of the job's ranks at the host that nothing counts; where there is none, no flows are
-- missed, and there is no row.
with seats as (
    select distinct
        job_id,
        host,
        device,
        coalesce(nullif(port, '1'), '') as port,
        device || coalesce('/' || nullif(port, ''), '') as seat
    from placements
),

uncounted as (
    select
        seats.job_id,
        seats.host,
        string_agg(seats.seat, ', ' order by seats.seat) as ports
    from seats
    left join port_series
        on
            seats.host = port_series.host
            and seats.device = port_series.device
            and seats.port = coalesce(nullif(port_series.port, '1'), '')
            and port_series.direction = 'transmit'
    where port_series.series_id is null
    group by seats.job_id, seats.host
)

select
    address_jobs.job_id,
    address_jobs.host,
    address_jobs.address,
    any_value(uncounted.ports) as ports,
    count(*) as n_flows,
    cast(sum(flows.bytes) as bigint) as bytes
from address_jobs
inner join uncounted on address_jobs.job_id = uncounted.job_id and address_jobs.host = uncounted.host
inner join pair_jobs on address_jobs.address = pair_jobs.src and address_jobs.job_id = pair_jobs.job_id
inner join flows on pair_jobs.src = flows.src and pair_jobs.dst = flows.dst
where address_jobs.device is null
group by address_jobs.job_id, address_jobs.host, address_jobs.address
