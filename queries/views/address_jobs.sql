-- purpose: the jobs that have ranks at each address of the network, and the port there
-- params: none
-- returns: address, job_id, host, device, port
-- order: none
--
-- device and port are null where the job has ranks at several ports of the host, and it is not known which of
-- them has the address.
select
    addresses.address,
    placements.job_id,
    placements.host,
    case
        when count(distinct placements.device || '/' || coalesce(placements.port, '')) = 1
            then any_value(placements.device)
    end as device,
    case
        when count(distinct placements.device || '/' || coalesce(placements.port, '')) = 1
            then any_value(coalesce(placements.port, ''))
    end as port
from addresses
inner join placements
    on
        addresses.host = placements.host
        and (
            addresses.device is null
            or (
                addresses.device = placements.device
                and coalesce(addresses.port, '') = coalesce(placements.port, '')
            )
        )
group by addresses.address, placements.job_id, placements.host
