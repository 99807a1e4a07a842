-- purpose: how compatible each two jobs of a link are, as if they were alone on it, the worst first
-- params: link_id text = null: only this link
-- params: job_id text = null: only pairs with this job
-- returns: link_id, direction, capacity_bps, job_id, other_id, period_s, other_period_s, score_best,
--   score_random, gain, shift_s
-- order: score_best nulls last, link_id, direction, job_id, other_id
--
-- Exact scores of function compat: 1 is no excess; score_best at the best shift, score_random over all of
-- them, gain what a shift can win. shift_s: how much later other_id begins for the best. Null where one of
-- the two has no period. Measured profiles as they are, without what offbeat analyze corrects; all jobs of a
-- link at once: query compat_by_link.
with paired as (
    select
        a.link_id,
        a.direction,
        a.capacity_bps,
        a.job_id,
        b.job_id as other_id,
        a.demand.period_s,
        b.demand.period_s as other_period_s,
        compat(a.demand, b.demand, a.capacity_bps) as score
    from link_demands as a
    inner join link_demands as b
        on a.link_id = b.link_id and a.direction = b.direction and a.job_id < b.job_id
    where
        ($link_id is null or a.link_id = $link_id)
        and ($job_id is null or $job_id in (a.job_id, b.job_id))
)

select
    link_id,
    direction,
    capacity_bps,
    job_id,
    other_id,
    period_s,
    other_period_s,
    struct_extract(score, 'score_best') as score_best,
    struct_extract(score, 'score_random') as score_random,
    struct_extract(score, 'score_best') - struct_extract(score, 'score_random') as gain,
    struct_extract(score, 'shift_s') as shift_s
from paired
order by score_best nulls last, link_id, direction, job_id, other_id
