-- purpose: the byte series that carry what one job, and no other, transmits
-- params: none
-- returns: job_id, link_id, direction, series_id, weight_frac
-- order: none
--
-- They stand on the links that leave the job's own ports. weight_frac is the series' rate over the transmit
-- rate of one rank.
select
    job_id,
    link_id,
    direction,
    series_id,
    weight_frac
from job_ports
where host_direction = 'transmit'
