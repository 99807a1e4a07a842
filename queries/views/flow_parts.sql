-- purpose: the series of captures whose sum is what a job's rank sends through its port
-- params: none
-- returns: series_id, part_id, job_id, host, device, port, capture_point
-- order: none
--
-- series_id is of the sum, part_id of a pair of addresses, or of a flow, that is the job's and no other's.
-- What was captured at several points is not added up: the sum is of one point, that which saw most bytes.
select
    md5_number_lower(concat_ws('|', 'flows', job_id, host, device, port, capture_point)) as series_id,
    part_id,
    job_id,
    host,
    device,
    port,
    capture_point
from flow_points
where choice = 1
