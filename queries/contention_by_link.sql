-- purpose: how long the jobs of each shared link were Up together, and what they asked beyond its capacity
-- params: link_id text = null: only this link
-- returns: link_id, direction, capacity_bps, n_jobs, jobs, periods_s, uncounted_jobs, refresh_s, observed_s,
--   shared_s, shared_frac, n_windows, over_s, over_frac, over_bytes
-- order: over_bytes desc nulls last, shared_s desc nulls last, link_id, direction
--
-- jobs, periods_s: those that cross it, and the period of each. uncounted_jobs: those of which it is not
-- known when they are Up, as they have no period: what is told is of the others, and a lower bound for all;
-- null where all are counted. shared_s: two or more jobs Up; n_windows: in so many stretches; over_s,
-- over_bytes: demand above capacity. Null where fewer than two jobs are counted, or those that are were not
-- observed at one time. See view link_contention.
--
-- refresh_s: the longest interval at which a counter of theirs is itself copied. Bursts of few such ticks are
-- blurred: of 8 ticks all was within 4 % of the truth, of 1.6 shared_s was 20 % high and over_bytes 25 % low.
-- Null where no interval was found: reads are taken as they are.
with meetings as (
    select
        link_jobs.link_id,
        link_jobs.direction,
        any_value(link_jobs.capacity_bps) as capacity_bps,
        count(*) as n_jobs,
        string_agg(link_jobs.job_id, ', ' order by link_jobs.job_id) as jobs,
        list(link_jobs.period_s order by link_jobs.job_id) as periods_s,
        string_agg(link_jobs.job_id, ', ' order by link_jobs.job_id)
        filter (where not link_jobs.is_counted) as uncounted_jobs,
        max(profiles.refresh_s) filter (where link_jobs.is_counted) as refresh_s
    from link_jobs
    left join profiles on link_jobs.series_id = profiles.series_id
    group by link_jobs.link_id, link_jobs.direction
    having count(*) > 1
),

totals as (
    select
        link_id,
        direction,
        sum(window_ns) / 1e9 as observed_s,
        coalesce(sum(window_ns) filter (where n_jobs_up > 1), 0) / 1e9 as shared_s,
        count(*) filter (where n_jobs_up > 1 and coalesce(n_jobs_up_before < 2, true)) as n_windows,
        coalesce(sum(window_ns) filter (where over_bytes > 0), 0) / 1e9 as over_s,
        cast(sum(over_bytes) as bigint) as over_bytes
    from link_meetings($link_id)
    group by link_id, direction
)

select
    meetings.link_id,
    meetings.direction,
    meetings.capacity_bps,
    meetings.n_jobs,
    meetings.jobs,
    meetings.periods_s,
    meetings.uncounted_jobs,
    meetings.refresh_s,
    totals.observed_s,
    totals.shared_s,
    totals.shared_s / totals.observed_s as shared_frac,
    totals.n_windows,
    totals.over_s,
    totals.over_s / totals.observed_s as over_frac,
    totals.over_bytes
from meetings
left join totals on meetings.link_id = totals.link_id and meetings.direction = totals.direction
where $link_id is null or meetings.link_id = $link_id
order by
    totals.over_bytes desc nulls last,
    totals.shared_s desc nulls last,
    meetings.link_id asc,
    meetings.direction asc
