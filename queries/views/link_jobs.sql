-- purpose: the jobs whose traffic crosses each link and direction, with the demand that each puts on it
-- params: none
-- returns: link_id, direction, capacity_bps, tier, job_id, series_id, load_frac, status, period_s,
--   duty_frac, mean_bps, peak_bps, is_measured, demand_frac, is_counted
-- order: none
--
-- series_id counts the job's traffic in this direction where is_measured (view link_counters); else the job
-- is assumed to send here as in its best-known series (view job_profiles). status, duty_frac, mean_bps and
-- peak_bps are of series_id, the rates as demands on the link: demand_frac is the demand over the rate of
-- series_id. load_frac is the demand over the rate of the job's best-known series if every rank sends
-- alike, and period_s is that of the job. A job without a counter of its own has nulls.
-- is_counted: it is known when the job is Up.
with counted as (
    select
        paths.link_id,
        paths.direction,
        paths.job_id,
        coalesce(link_counters.series_id, job_profiles.series_id) as series_id,
        paths.weight_frac / coalesce(link_counters.weight_frac, job_profiles.weight_frac) as demand_frac,
        paths.weight_frac / job_profiles.weight_frac as load_frac,
        link_counters.series_id is not null as is_measured,
        job_profiles.period_s
    from paths
    left join link_counters
        on
            paths.link_id = link_counters.link_id
            and paths.direction = link_counters.direction
            and paths.job_id = link_counters.job_id
    left join job_profiles on paths.job_id = job_profiles.job_id
)

select
    counted.link_id,
    counted.direction,
    links.capacity_bps,
    links.tier,
    counted.job_id,
    counted.series_id,
    counted.load_frac,
    profiles.status,
    coalesce(counted.period_s, profiles.period_s) as period_s,
    profiles.duty_frac,
    profiles.mean_bps * counted.demand_frac as mean_bps,
    profiles.peak_bps * counted.demand_frac as peak_bps,
    counted.is_measured,
    counted.demand_frac,
    coalesce(profiles.status = 'periodic', false)
    and coalesce(counted.period_s, profiles.period_s) is not null as is_counted
from counted
inner join links on counted.link_id = links.link_id
left join profiles on counted.series_id = profiles.series_id
