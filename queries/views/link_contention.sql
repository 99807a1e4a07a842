-- purpose: on links that several jobs cross, in every stretch of time, how many were Up and what they asked
--   for
-- params: none
-- returns: link_id, direction, t_ns, window_ns, capacity_bps, n_jobs, n_jobs_up, jobs_up, demand_bps,
--   over_bytes
-- order: none
--
-- Demand is what the jobs' own ports carried, each job at most the capacity, since one job alone is no
-- contention. over_bytes therefore arrived faster than the link sends because jobs met, and had to queue;
-- where congestion control throttles the jobs, they are few, and the time shared tells more.
--
-- Ports are read at different times: their bytes are spread evenly over each read's window into common bins
-- (t_ns is the end of one), a fiftieth of the link's shortest period wide. A job is Up in a bin above its
-- threshold of view job_timeline, and in pauses of at most three bins between such bins. Bins in which a
-- job was not observed, and windows longer than half a period, in which phases cannot be told, are left
-- out.
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
        job_timeline.rate_bps * link_jobs.load_frac as demand_bps,
        job_timeline.up_bps * link_jobs.load_frac as up_bps
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
        case when sum(demand_bps * overlap_ns) / bin_ns > any_value(up_bps) then i_bin end as i_busy
    from pieces
    group by link_id, direction, n_jobs, bin_ns, capacity_bps, job_id, i_bin
    having sum(overlap_ns) = bin_ns
),

bursts as (
    select
        *,
        coalesce(min(i_busy) over onward - max(i_busy) over so_far <= 4, false) as is_up
    from job_bins
    window
        so_far as (
            partition by link_id, direction, job_id order by i_bin
            rows between unbounded preceding and current row
        ),
        onward as (
            partition by link_id, direction, job_id order by i_bin
            rows between current row and unbounded following
        )
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
    cast(
        round(greatest(sum(least(demand_bps, capacity_bps)) - capacity_bps, 0) * bin_ns / 8e9) as bigint
    ) as over_bytes
from bursts
group by link_id, direction, n_jobs, bin_ns, capacity_bps, i_bin
having count(*) = n_jobs
