-- purpose: the links that each job's traffic crosses, and how many jobs it meets there
-- params: job_id text = null: only this job
-- returns: job_id, link_id, direction, tier, capacity_bps, load_frac, mean_bps, peak_bps, n_jobs
-- order: job_id, link_id, direction
with counted as (
    select
        job_id,
        link_id,
        direction,
        tier,
        capacity_bps,
        load_frac,
        mean_bps,
        peak_bps,
        count(*) over (partition by link_id, direction) as n_jobs
    from link_jobs
)

select
    job_id,
    link_id,
    direction,
    tier,
    capacity_bps,
    load_frac,
    mean_bps,
    peak_bps,
    n_jobs
from counted
where $job_id is null or job_id = $job_id
order by job_id, link_id, direction
