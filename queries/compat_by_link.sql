-- purpose: how compatible the jobs of each link are, with the jobs named
-- params: verdict text = null: only links of this verdict, such as compatible
-- returns: link_id, direction, capacity_bps, jobs, verdict, score_now, score_best, score_random,
--   score_cassini, score_paced, score_robust, gap, horizon_s, hold_s
-- order: link_id, direction
with crossings as (
    select
        link_id,
        direction,
        string_agg(job_id, ', ' order by job_id) as jobs
    from paths
    group by link_id, direction
)

select
    compat.link_id,
    compat.direction,
    compat.capacity_bps,
    crossings.jobs,
    compat.verdict,
    compat.score_now,
    compat.score_best,
    compat.score_random,
    compat.score_cassini,
    compat.score_paced,
    compat.score_robust,
    compat.gap,
    compat.horizon_s,
    compat.hold_s
from compat
left join crossings on compat.link_id = crossings.link_id and compat.direction = crossings.direction
where $verdict is null or compat.verdict = $verdict
order by compat.link_id, compat.direction
