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
-- meet, as offbeat analyze --every tells changes; before_period_s is that of the range before. Null for the
-- first range.
with ranges as (
    select
        series_id,
        from_ns,
        to_ns,
        status,
        period_s,
        period_low_s,
        period_high_s,
        confidence,
        jitter_frac,
        mean_bps,
        peak_bps,
        duty_frac,
        false as is_present
    from profile_history
    union all
    select
        series_id,
        from_ns,
        to_ns,
        status,
        period_s,
        period_low_s,
        period_high_s,
        confidence,
        jitter_frac,
        mean_bps,
        peak_bps,
        duty_frac,
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

compared as (
    select
        *,
        lag(status) over in_time as before_status,
        lag(period_s) over in_time as before_period_s,
        lag(coalesce(period_low_s, period_s)) over in_time as before_low_s,
        lag(coalesce(period_high_s, period_s)) over in_time as before_high_s
    from known
    window in_time as (partition by job_id order by is_present, from_ns)
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
