-- purpose: the profile of each job over time, and whether its period changed
-- params: job_id text = null: only this job
-- params: changed flag = 0: 1: only times at which it changed
-- params: period_frac real = 0.01: a period that differs by less is the same one, as the pace of jobs wanders
-- returns: job_id, is_present, from_ns, from_at, to_ns, series_id, status, period_s, period_low_s,
--   period_high_s, confidence, jitter_frac, mean_bps, peak_bps, duty_frac, before_period_s, change_frac,
--   is_changed
-- order: job_id, is_present, from_ns
--
-- One row a time range that offbeat analyze closed, and the last for the present one; of the series that
-- carry the job alone, as it is placed now, the periodic one known best in that range. is_changed: its status
-- is another, or its period differs by more than period_frac and the 95 % intervals before and now do not
-- meet, as offbeat analyze --every tells changes; before_period_s is that of the range before, which is the
-- closed one that ended last when this one began: the present of a wide window can begin before the newest
-- closed range has ended. Null for the first range.
with ranges as (
    select
        *,
        false as is_present
    from profile_history
    union all by name
    select
        *,
        true as is_present
    from profiles
    where from_ns is not null and to_ns is not null
),

carriers as (
    select distinct
        job_id,
        series_id
    from job_series
),

known as (
    select
        carriers.job_id,
        ranges.*
    from carriers
    inner join ranges on carriers.series_id = ranges.series_id
    qualify
        row_number() over (
            partition by
                carriers.job_id, ranges.is_present, case when not ranges.is_present then ranges.from_ns end
            order by
                ranges.status = 'periodic' desc, ranges.confidence desc nulls last, ranges.series_id asc
        ) = 1
),

closed as (
    select
        job_id,
        to_ns,
        status,
        period_s,
        coalesce(period_low_s, period_s) as low_s,
        coalesce(period_high_s, period_s) as high_s
    from known
    where not is_present
    qualify row_number() over (partition by job_id, to_ns order by from_ns desc) = 1
),

compared as (
    select
        known.*,
        closed.status as before_status,
        closed.period_s as before_period_s,
        closed.low_s as before_low_s,
        closed.high_s as before_high_s
    from known
    asof left join closed on known.job_id = closed.job_id and known.from_ns >= closed.to_ns
),

judged as (
    select
        *,
        case
            when before_status is null then null
            when status != before_status then true
            when period_s is null or before_period_s is null then false
            when abs(period_s - before_period_s) <= $period_frac * least(period_s, before_period_s) then false
            else
                coalesce(period_low_s, period_s) > before_high_s
                or coalesce(period_high_s, period_s) < before_low_s
        end as is_changed
    from compared
)

select
    job_id,
    is_present,
    from_ns,
    make_timestamp_ns(from_ns) as from_at,
    to_ns,
    series_id,
    status,
    period_s,
    period_low_s,
    period_high_s,
    confidence,
    jitter_frac,
    mean_bps,
    peak_bps,
    duty_frac,
    before_period_s,
    period_s / before_period_s - 1 as change_frac,
    is_changed
from judged
where ($job_id is null or job_id = $job_id) and ($changed = 0 or is_changed)
order by job_id, is_present, from_ns
