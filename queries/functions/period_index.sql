-- purpose: the iteration in which a time falls, counted from an anchor
-- params: t_ns integer: the time
-- params: period_s real: the iteration period
-- params: anchor_ns integer = 0: when iteration 0 begins, such as profiles.anchor_ns
-- returns: i_period integer: negative before the anchor; null if an argument is null or the period not
--   positive
-- example: period_index(t_ns, 0.255, anchor_ns := 1796000000000000000)
--
-- A time on the edge of an iteration belongs to the one that begins. Far from the anchor a period that is a
-- little off counts wrongly: give an anchor near the data. See fold_s.
create macro period_index(t_ns, period_s, anchor_ns := 0) as
cast(
    round((t_ns - anchor_ns - fold_s(t_ns, period_s, anchor_ns := anchor_ns) * 1e9) / (period_s * 1e9))
    as bigint
)
