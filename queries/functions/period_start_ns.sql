-- purpose: when the iteration began in which a time falls: its bucket, for group by
-- params: t_ns integer: the time
-- params: period_s real: the iteration period
-- params: anchor_ns integer = 0: when iteration 0 begins, such as profiles.anchor_ns
-- returns: start_ns integer: at most t_ns, to a nanosecond; null if an argument is null or the period not
--   positive
-- example: period_start_ns(t_ns, 0.255, anchor_ns := 1796000000000000000)
--
-- See period_index, fold_s.
create macro period_start_ns(t_ns, period_s, anchor_ns := 0) as
t_ns - cast(round(fold_s(t_ns, period_s, anchor_ns := anchor_ns) * 1e9) as bigint)
