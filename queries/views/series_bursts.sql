-- purpose: every window of the time in which a series was analysed, and whether it was Up
-- params: none
-- returns: series_id, t_ns, window_ns, bytes, rate_bps, up_bps, is_up, burst_bps
-- order: none
--
-- Up is above up_bps, a tenth of the way from the fastest Down phase to the slowest Up phase of the series'
-- profile, burst_bps; null for one without phases. A burst pauses between packets: in short windows is_up
-- flickers.
with span as (
    select
        min(from_ns) as from_ns,
        -- A tick is read after it, up to one interval of the counter's clock.
        max(to_ns) + cast(coalesce(max(refresh_s), 0) * 1e9 as bigint) as to_ns
    from profiles
),

thresholds as (
    select
        series_id,
        coalesce(max(rate_bps) filter (where kind = 'down'), 0) as down_bps,
        min(rate_bps) filter (where kind = 'up') as burst_bps
    from phases
    group by series_id
)

select
    profiles.series_id,
    rates.t_ns,
    rates.window_ns,
    rates.bytes,
    rates.rate_bps,
    thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as up_bps,
    rates.rate_bps > thresholds.down_bps + (thresholds.burst_bps - thresholds.down_bps) / 10 as is_up,
    thresholds.burst_bps
from profiles
inner join
    rates_between((select span.from_ns from span), (select span.to_ns from span)) as rates
    on
        profiles.series_id = rates.series_id
        and rates.t_ns - rates.window_ns >= coalesce(profiles.from_ns, rates.t_ns - rates.window_ns)
        and rates.t_ns <= coalesce(profiles.to_ns, rates.t_ns)
left join thresholds on profiles.series_id = thresholds.series_id
