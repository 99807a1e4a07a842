-- purpose: the profile of each job's own traffic: of the series that carry it, the periodic one known best
-- params: none
-- returns: job_id, series_id, weight_frac, status, period_s, confidence, mean_bps, peak_bps, duty_frac,
--   anchor_ns
-- order: none
with candidates as (
    select
        job_series.job_id,
        job_series.series_id,
        job_series.weight_frac,
        profiles.status,
        profiles.period_s,
        profiles.confidence,
        profiles.mean_bps,
        profiles.peak_bps,
        profiles.duty_frac,
        profiles.anchor_ns,
        row_number() over (
            partition by job_series.job_id
            order by
                profiles.status = 'periodic' desc,
                profiles.confidence desc nulls last,
                job_series.series_id asc
        ) as choice
    from job_series
    inner join profiles on job_series.series_id = profiles.series_id
)

select
    job_id,
    series_id,
    weight_frac,
    status,
    period_s,
    confidence,
    mean_bps,
    peak_bps,
    duty_frac,
    anchor_ns
from candidates
where choice = 1
