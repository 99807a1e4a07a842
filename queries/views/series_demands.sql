-- purpose: the profile of every series with a period, as function compat takes it
-- params: none
-- returns: series_id, demand
-- order: none
--
-- demand is struct(period_s, period_error_s, phases), phases a list of struct(start_s, width_s, rate_bps).
-- The error is the 95 % interval's wider half over 1.96. Null if the rate of a phase is not known.
with bursts as (
    select
        series_id,
        bool_or(rate_bps is null) as is_unknown,
        list(
            { 'start_s': start_s, 'width_s': width_s, 'rate_bps': rate_bps }
            order by start_s
        ) filter (where rate_bps > 0) as phases
    from phases
    group by series_id
)

select
    profiles.series_id,
    case
        when not bursts.is_unknown
            then profile_of(
                profiles.period_s,
                bursts.phases,
                period_error_s := coalesce(
                    greatest(
                        profiles.period_s - profiles.period_low_s, profiles.period_high_s - profiles.period_s
                    ) / 1.96,
                    0
                )
            )
    end as demand
from profiles
inner join bursts on profiles.series_id = bursts.series_id
where profiles.status = 'periodic'
