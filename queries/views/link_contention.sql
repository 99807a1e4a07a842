-- purpose: on links that two or more jobs cross, in every stretch of time, how many jobs were Up and what
--   they asked for
-- params: none
-- returns: link_id, direction, t_ns, window_ns, capacity_bps, n_jobs, n_jobs_up, jobs_up, demand_bps,
--   over_bytes
-- order: none
--
-- Demand is what the jobs' own ports carried, so over_bytes arrived faster than the link sends and had to
-- queue. Ports are read at different times: their bytes are spread evenly over each read's window into
-- common bins, a fiftieth of the link's shortest period wide. Bins in which a job was not observed, and
-- windows longer than half a period, in which phases cannot be told, are left out. t_ns is the end of the
-- bin.
with shared as (
    select
        link_id,
        direction,
        count(*) as n_jobs,
        cast(round(min(period_s) * 1e9 / 50) as bigint) as bin_ns
    from link_jobs
    group by link_id, direction
    having count(*) > 1 and count(period_s) = count(*)
),

windows as (
    select
        shared.link_id,
        shared.direction,
        shared.n_jobs,
        shared.bin_ns,
        link_jobs.capacity_bps,
        link_jobs.job_id,
        job_timeline.t_ns - job_timeline.window_ns as start_ns,
        job_timeline.t_ns as end_ns,
        job_timeline.is_up,
        job_timeline.rate_bps * link_jobs.load_frac as demand_bps
    from shared
    inner join link_jobs on shared.link_id = link_jobs.link_id and shared.direction = link_jobs.direction
    inner join job_timeline on link_jobs.job_id = job_timeline.job_id
    where job_timeline.rate_bps is not null and job_timeline.window_ns < link_jobs.period_s * 5e8
),

cut as (
    select
        *,
        unnest(range(start_ns // bin_ns, (end_ns - 1) // bin_ns + 1)) as i_bin
    from windows
),

pieces as (
    select
        *,
        least(end_ns, (i_bin + 1) * bin_ns) - greatest(start_ns, i_bin * bin_ns) as overlap_ns
    from cut
),

job_bins as (
    select
        link_id,
        direction,
        n_jobs,
        bin_ns,
        capacity_bps,
        job_id,
        i_bin,
        sum(demand_bps * overlap_ns) / bin_ns as demand_bps,
        coalesce(sum(overlap_ns) filter (where is_up), 0) * 2 > bin_ns as is_up
    from pieces
    group by link_id, direction, n_jobs, bin_ns, capacity_bps, job_id, i_bin
    having sum(overlap_ns) = bin_ns
)

select
    link_id,
    direction,
    (i_bin + 1) * bin_ns as t_ns,
    bin_ns as window_ns,
    capacity_bps,
    n_jobs,
    count(*) filter (where is_up) as n_jobs_up,
    coalesce(string_agg(job_id, ', ' order by job_id) filter (where is_up), '') as jobs_up,
    sum(demand_bps) as demand_bps,
    cast(round(greatest(sum(demand_bps) - capacity_bps, 0) * bin_ns / 8e9) as bigint) as over_bytes
from job_bins
group by link_id, direction, n_jobs, bin_ns, capacity_bps, i_bin
having count(*) = n_jobs
