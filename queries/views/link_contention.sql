-- purpose: on links that several jobs cross, in every stretch of time, how many were Up and what they asked
--   for
-- params: none
-- returns: link_id, direction, t_ns, window_ns, capacity_bps, n_jobs, n_jobs_up, jobs_up, demand_bps,
--   over_bytes
-- order: none
--
-- Of the jobs of which it is known when they are Up, n_jobs, where these are two or more; of others see
-- uncounted_jobs of query contention_by_link. Demand is what series_id of view link_jobs carried, in this
-- direction where it is measured, each job at most the capacity, since one job alone is no contention.
-- over_bytes therefore arrived faster than the link sends because jobs met, and had to queue; where
-- congestion control throttles the jobs, they are few, and the time shared tells more.
--
-- Ports are read at different times: their bytes are spread over each window of view series_bursts into
-- common bins (t_ns is the end of one) of 1, 2 or 5 times a power of ten, at most a fiftieth of the link's
-- shortest period: evenly, but a window longer than a bin that is the first or last of a burst is cut into a
-- part at the rate of the window outside and the rest at the rate inside. A job is Up in a bin above its
-- threshold of view series_bursts, and in pauses of at most three bins between such bins. Bins in which a job
-- was not observed, and windows longer than half a period, in which phases cannot be told, are left out.
with shared as (
    select
        link_id,
        direction,
        count(*) as n_jobs,
        min(period_s) * 1e9 / 50 as widest_ns
    from link_jobs
    where is_counted
    group by link_id, direction
    having count(*) > 1
),

scales as (
    select
        *,
        cast(pow(10, floor(log10(widest_ns))) as bigint) as scale_ns
    from shared
),

crossings as (
    select
        scales.link_id,
        scales.direction,
        scales.n_jobs,
        scales.scale_ns * case
            when scales.widest_ns >= 5 * scales.scale_ns then 5
            when scales.widest_ns >= 2 * scales.scale_ns then 2
            else 1
        end as bin_ns,
        link_jobs.capacity_bps,
        link_jobs.job_id,
        link_jobs.series_id,
        link_jobs.period_s,
        link_jobs.demand_frac
    from scales
    inner join link_jobs on scales.link_id = link_jobs.link_id and scales.direction = link_jobs.direction
    where link_jobs.is_counted
),

wanted as (
    select distinct
        series_id,
        period_s,
        bin_ns
    from crossings
),

windows as (
    select
        series_id,
        t_ns - window_ns as start_ns,
        t_ns as end_ns,
        rate_bps,
        up_bps,
        burst_bps,
        case when lag(t_ns) over in_time = t_ns - window_ns then lag(rate_bps) over in_time end
            as before_bps,
        case when lead(t_ns - window_ns) over in_time = t_ns then lead(rate_bps) over in_time end
            as after_bps,
        lag(is_up, 2) over in_time as is_long_before,
        lead(is_up, 2) over in_time as is_long_after
    from series_bursts_of((select coalesce(list(distinct wanted.series_id), []) from wanted))
    where rate_bps is not null
    window in_time as (partition by series_id order by t_ns)
),

leveled as (
    select
        *,
        before_bps <= up_bps and after_bps > up_bps as is_first,
        before_bps > up_bps and after_bps <= up_bps as is_last,
        least(before_bps, after_bps) as outside_bps,
        -- A burst of which every window is one of its ends shows its rate in none.
        case
            when
                case when before_bps < after_bps then is_long_after else is_long_before end
                then greatest(before_bps, after_bps)
            else greatest(before_bps, after_bps, burst_bps)
        end as inside_bps
    from windows
),

ended as (
    select
        leveled.*,
        wanted.period_s,
        wanted.bin_ns,
        case
            when
                leveled.end_ns - leveled.start_ns > wanted.bin_ns
                and (leveled.is_first or leveled.is_last)
                and leveled.rate_bps > leveled.outside_bps
                and leveled.rate_bps < leveled.inside_bps
                then cast(
                    (leveled.end_ns - leveled.start_ns) * (leveled.rate_bps - leveled.outside_bps)
                    / (leveled.inside_bps - leveled.outside_bps) as bigint
                )
        end as inside_ns
    from wanted
    inner join leveled on wanted.series_id = leveled.series_id
    where leveled.end_ns - leveled.start_ns < wanted.period_s * 5e8
),

parts as (
    select
        series_id,
        period_s,
        bin_ns,
        up_bps,
        end_ns - start_ns > bin_ns as is_coarse,
        unnest(
            case
                when inside_ns is null then [row(start_ns, end_ns, rate_bps)]
                when is_first
                    then [
                        row(start_ns, end_ns - inside_ns, outside_bps),
                        row(end_ns - inside_ns, end_ns, inside_bps)
                    ]
                else [
                    row(start_ns, start_ns + inside_ns, inside_bps),
                    row(start_ns + inside_ns, end_ns, outside_bps)
                ]
            end
        ) as part
    from ended
),

named as (
    select
        series_id,
        period_s,
        bin_ns,
        up_bps,
        is_coarse,
        part[1] as start_ns,
        part[2] as end_ns,
        part[3] as rate_bps
    from parts
),

cut as (
    select
        *,
        unnest(range(start_ns // bin_ns, (end_ns - 1) // bin_ns + 1)) as i_bin
    from named
),

covered as (
    select
        *,
        least(end_ns, (i_bin + 1) * bin_ns) - greatest(start_ns, i_bin * bin_ns) as overlap_ns
    from cut
),

pieces as (
    select
        *,
        cast(round(rate_bps * overlap_ns / 1e9) as bigint) as bits,
        case when rate_bps > up_bps or not is_coarse then overlap_ns else 0 end as up_ns
    from covered
),

job_bins as (
    select
        series_id,
        period_s,
        bin_ns,
        i_bin,
        sum(bits) * 1e9 / bin_ns as rate_bps,
        case
            when sum(bits) * 1e9 / bin_ns > any_value(up_bps) and 2 * sum(up_ns) >= bin_ns then i_bin
        end as i_busy
    from pieces
    group by series_id, period_s, bin_ns, i_bin
    having sum(overlap_ns) = bin_ns
),

bursts as (
    select
        *,
        -- Next and last busy bin; running min and max are the same, and take half of the query's time.
        coalesce(
            first_value(i_busy ignore nulls) over onward - last_value(i_busy ignore nulls) over so_far <= 4,
            false
        ) as is_up
    from job_bins
    window
        so_far as (
            partition by series_id, period_s, bin_ns order by i_bin
            rows between unbounded preceding and current row
        ),
        onward as (
            partition by series_id, period_s, bin_ns order by i_bin
            rows between current row and unbounded following
        )
),

demands as (
    select
        crossings.link_id,
        crossings.direction,
        crossings.n_jobs,
        crossings.bin_ns,
        crossings.capacity_bps,
        crossings.job_id,
        bursts.i_bin,
        bursts.is_up,
        cast(round(bursts.rate_bps * crossings.demand_frac) as bigint) as demand_bps
    from crossings
    inner join bursts
        on
            crossings.series_id = bursts.series_id
            and crossings.period_s = bursts.period_s
            and crossings.bin_ns = bursts.bin_ns
)

select
    link_id,
    direction,
    (i_bin + 1) * bin_ns as t_ns,
    bin_ns as window_ns,
    capacity_bps,
    n_jobs,
    count(*) filter (where is_up) as n_jobs_up,
    coalesce(array_to_string(list_sort(list(job_id) filter (where is_up)), ', '), '') as jobs_up,
    cast(sum(demand_bps) as double) as demand_bps,
    cast(
        round(greatest(sum(least(demand_bps, cast(capacity_bps as bigint))) - capacity_bps, 0) * bin_ns / 8e9)
        as bigint
    ) as over_bytes
from demands
group by link_id, direction, n_jobs, bin_ns, capacity_bps, i_bin
having count(*) = n_jobs
