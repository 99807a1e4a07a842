-- purpose: how long after the beginning of its iteration a time is
-- params: t_ns integer: the time
-- params: period_s real: the iteration period
-- params: anchor_ns integer = 0: when iteration 0 begins, such as profiles.anchor_ns
-- returns: phase_s real: at least 0, less than period_s; null if an argument is null or the period not
--   positive
-- example: fold_s(t_ns, 0.255, anchor_ns := 1796000000000000000)
--
-- The remainder is exact; the time since the anchor is, to a nanosecond, within 100 days of it.
create macro fold_s(t_ns, period_s, anchor_ns := 0) as
case
    when period_s > 0
        then (
            cast(t_ns - anchor_ns as double) % (period_s * 1e9)
            + case
                when cast(t_ns - anchor_ns as double) % (period_s * 1e9) < 0 then period_s * 1e9
                else 0
            end
        ) / 1e9
end
