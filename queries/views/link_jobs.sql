-- purpose: the jobs whose traffic crosses each link and direction, with the demand that each puts on it
-- params: none
-- returns: link_id, direction, capacity_bps, tier, job_id, series_id, load_frac, status, period_s,
--   duty_frac, mean_bps, peak_bps
-- order: none
--
-- load_frac is the job's demand on the link over the rate of series_id, from which its profile comes;
-- mean_bps and peak_bps are demands on the link. A job without a counter of its own has nulls.
select
    paths.link_id,
    paths.direction,
    links.capacity_bps,
    links.tier,
    paths.job_id,
    job_profiles.series_id,
    paths.weight_frac / job_profiles.weight_frac as load_frac,
    job_profiles.status,
    job_profiles.period_s,
    job_profiles.duty_frac,
    job_profiles.mean_bps * paths.weight_frac / job_profiles.weight_frac as mean_bps,
    job_profiles.peak_bps * paths.weight_frac / job_profiles.weight_frac as peak_bps
from paths
inner join links on paths.link_id = links.link_id
left join job_profiles on paths.job_id = job_profiles.job_id
