-- purpose: the series that each job's profile comes from, or why the job has none
-- params: job_id text = null: only this job
-- returns: job_id, n_ranks, n_links, n_series, series_id, weight_frac, status, period_s, confidence,
--   mean_bps, peak_bps, duty_frac, bottleneck_bps, reason
-- order: job_id
--
-- n_links: links and directions that the job crosses; n_series: series that carry its traffic and no other
-- job's; bottleneck_bps: rate of the chosen series that the slowest link of the job's path carries.
with crossings as (
    select
        job_id,
        count(*) as n_links,
        min(capacity_bps / load_frac) as bottleneck_bps
    from link_jobs
    group by job_id
),

carriers as (
    select
        job_id,
        count(distinct series_id) as n_series
    from job_series
    group by job_id
)

select
    jobs.job_id,
    jobs.n_ranks,
    coalesce(crossings.n_links, 0) as n_links,
    coalesce(carriers.n_series, 0) as n_series,
    job_profiles.series_id,
    job_profiles.weight_frac,
    job_profiles.status,
    job_profiles.period_s,
    job_profiles.confidence,
    job_profiles.mean_bps,
    job_profiles.peak_bps,
    job_profiles.duty_frac,
    crossings.bottleneck_bps,
    case
        when crossings.n_links is null then 'its ranks send nothing across a link'
        when carriers.n_series is null then 'no counter of a port that carries this job alone'
        when job_profiles.series_id is null then 'its series were not analysed; run offbeat analyze'
        else profiles.reason
    end as reason
from jobs
left join crossings on jobs.job_id = crossings.job_id
left join carriers on jobs.job_id = carriers.job_id
left join job_profiles on jobs.job_id = job_profiles.job_id
left join profiles on job_profiles.series_id = profiles.series_id
where $job_id is null or jobs.job_id = $job_id
order by jobs.job_id
