-- purpose: a traffic profile written by hand, for function compat
-- params: period_s real: the iteration period
-- params: phases list: the Up phases, each with start_s, width_s and rate_bps
-- params: period_error_s real = 0: standard error of a measured period; 0: exact
-- returns: profile struct(period_s, period_error_s, phases)
-- example: profile_of(0.255, [{'start_s': 0, 'width_s': 0.114, 'rate_bps': 4e8}])
--
-- Profiles that were measured stand in the views series_demands and link_demands.
create macro profile_of(period_s, phases, period_error_s := 0) as
{
    'period_s': cast(period_s as double),
    'period_error_s': cast(period_error_s as double),
    'phases': cast(phases as struct(start_s double, width_s double, rate_bps double)[])
}
