-- purpose: what each job puts on each link, as a profile that function compat takes
-- params: none
-- returns: link_id, direction, capacity_bps, job_id, series_id, is_measured, demand
-- order: none
--
-- The measured profile of view link_jobs' series, its rates times demand_frac; jobs whose profile is not
-- periodic have a null. On a full link a measured profile is that of a job that was hindered; offbeat analyze
-- corrects that, this view does not.
select
    link_jobs.link_id,
    link_jobs.direction,
    link_jobs.capacity_bps,
    link_jobs.job_id,
    link_jobs.series_id,
    link_jobs.is_measured,
    case
        when series_demands.demand is not null and link_jobs.demand_frac is not null
            then profile_of(
                series_demands.demand.period_s,
                list_transform(
                    series_demands.demand.phases,
                    lambda phase: {
                        'start_s': phase.start_s, -- noqa: RF01
                        'width_s': phase.width_s, -- noqa: RF01
                        'rate_bps': phase.rate_bps * link_jobs.demand_frac -- noqa: RF01
                    }
                ),
                period_error_s := series_demands.demand.period_error_s
            )
    end as demand
from link_jobs
left join series_demands on link_jobs.series_id = series_demands.series_id
