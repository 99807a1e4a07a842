-- purpose: on links that several jobs cross, in every stretch of time, how many were Up and what they asked
--   for
-- params: none
-- returns: link_id, direction, t_ns, window_ns, capacity_bps, n_jobs, n_jobs_up, jobs_up, demand_bps,
--   over_bytes
-- order: none
--
-- Of the jobs of which it is known when they are Up, n_jobs, where these are two or more; of others see
-- uncounted_jobs of query contention_by_link. Demand is what series_id of view link_jobs carried, in this
-- direction where it is measured, each job at most the capacity, since one job alone is no contention.
-- over_bytes therefore arrived faster than the link sends because jobs met, and had to queue; where
-- congestion control throttles the jobs, they are few, and the time shared tells more.
--
-- Ports are read at different times: their bytes are spread over their windows into common bins (t_ns is the
-- end of one), those of view link_crossings, and a job is Up in a bin, by the rules of function link_bursts.
-- Function link_meetings has a row where something changes, not one a bin: it is faster where that is enough.
with bins as (
    select
        link_id,
        direction,
        unnest(range(t_ns - window_ns + bin_ns, t_ns + 1, bin_ns)) as t_ns,
        bin_ns,
        capacity_bps,
        n_jobs,
        n_jobs_up,
        jobs_up,
        demand_bps,
        over_bytes // (window_ns // bin_ns) as over_bytes
    from link_meetings(null)
)

select
    link_id,
    direction,
    t_ns,
    bin_ns as window_ns,
    capacity_bps,
    n_jobs,
    n_jobs_up,
    jobs_up,
    demand_bps,
    over_bytes
from bins
