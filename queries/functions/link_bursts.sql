-- purpose: stretches of bins in which a job that meets others on a link has one rate, and is Up or not
-- params: link text: only this link; null: all
-- returns: i_link, n_jobs, i_job (as of view link_crossings), i_from integer (first bin; bin i begins at
--   i * bin_ns), i_to integer (last bin), is_up, is_up_before (in the bin before), demand_bps integer,
--   before_bps integer (demand in the bin before), most_bps integer (capacity of the link), is_joined (the
--   bin before was observed), is_end (the bin after was not)
-- example: from link_bursts('trunk') where is_up
--
-- Of the jobs, and in the bins, of view link_crossings. Bytes are spread over each window of function
-- series_bursts_of evenly, but a window longer than a bin that is the first or last of a burst is cut into
-- a part at the rate of the window outside and the rest at the rate inside. Up is a bin above the threshold,
-- and pauses of at most three bins between such bins. Bins that were not observed whole, and windows longer
-- than half a period, in which phases cannot be told, are left out.
--
-- Of a long window, the bins inside are one stretch: there are at most a few rows a window, however short
-- the bins.
create macro link_bursts(link) as table
    with crossings as materialized (
        select
            *,
            dense_rank() over (order by series_id, period_s, bin_ns) as i_wanted
        from link_crossings
        where link is null or link_id = link
    ),

    wanted as (
        select distinct
            i_wanted,
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
            lead(is_up, 2) over in_time as is_long_after,
            coalesce(lag(t_ns) over in_time > t_ns - window_ns, false) as is_overlap
        from series_bursts_of((select list(distinct wanted.series_id) from wanted))
        where rate_bps is not null
        window in_time as (partition by series_id order by t_ns)
    ),

    leveled as (
        select
            *,
            bool_or(is_overlap) over (partition by series_id) as is_tangled,
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
            wanted.i_wanted,
            wanted.bin_ns,
            leveled.end_ns - leveled.start_ns > wanted.bin_ns as is_coarse,
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
            i_wanted,
            bin_ns,
            up_bps,
            is_coarse,
            is_tangled,
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
            i_wanted,
            bin_ns,
            up_bps,
            is_coarse,
            is_tangled,
            part[1] as start_ns,
            part[2] as end_ns,
            part[3] as rate_bps,
            part[1] // bin_ns as i_first,
            (part[2] - 1) // bin_ns as i_last
        from parts
        where part[1] < part[2]
    ),

    cut as (
        select
            *,
            unnest(
                case
                    when i_first = i_last then [i_first]
                    -- Windows of deltas and gauges can overlap: then each bin has a row of its own.
                    when is_tangled or i_first + 1 = i_last then range(i_first, i_last + 1)
                    else [i_first, i_first + 1, i_last]
                end
            ) as i_from
        from named
    ),

    covered as (
        select
            *,
            case when is_tangled or i_from in (i_first, i_last) then i_from else i_last - 1 end as i_to,
            least(end_ns, (i_from + 1) * bin_ns) - greatest(start_ns, i_from * bin_ns) as overlap_ns
        from cut
    ),

    pieces as (
        select
            *,
            cast(round(rate_bps * overlap_ns / 1e9) as bigint) as bits,
            case when rate_bps > up_bps or not is_coarse then overlap_ns else 0 end as up_ns
        from covered
    ),

    stretches as (
        select
            i_wanted,
            i_from,
            max(i_to) as i_to,
            sum(bits) * 1e9 / any_value(bin_ns) as rate_bps,
            sum(bits) * 1e9 / any_value(bin_ns) > any_value(up_bps) and 2 * sum(up_ns) >= any_value(bin_ns)
                as is_busy
        from pieces
        group by i_wanted, i_from
        having sum(overlap_ns) = any_value(bin_ns)
    ),

    marked as (
        select
            *,
            case when is_busy then i_from end as busy_from,
            case when is_busy then i_to end as busy_to
        from stretches
    ),

    placed as (
        select
            *,
            -- Next and last busy bin: running min and max are the same, and slow.
            first_value(busy_from ignore nulls) over onward as next_busy,
            last_value(busy_to ignore nulls) over so_far as last_busy,
            lag(is_busy) over in_time as is_busy_before,
            lag(rate_bps) over in_time as before_bps,
            lag(i_to) over in_time as before_to,
            lead(i_from) over in_time as after_from
        from marked
        window
            in_time as (partition by i_wanted order by i_from),
            so_far as (
                partition by i_wanted order by i_from rows between unbounded preceding and 1 preceding
            ),
            onward as (
                partition by i_wanted order by i_from rows between current row and unbounded following
            )
    ),

    joined as (
        select
            *,
            coalesce(before_to = i_from - 1, false) as is_joined,
            coalesce(after_from != i_to + 1, true) as is_end
        from placed
    )

    select
        crossings.i_link,
        cast(crossings.n_jobs as integer) as n_jobs,
        cast(crossings.i_job as integer) as i_job,
        joined.i_from,
        joined.i_to,
        coalesce(joined.is_busy or joined.next_busy - joined.last_busy <= 4, false) as is_up,
        joined.is_joined
        and coalesce(joined.is_busy_before or joined.next_busy - joined.last_busy <= 4, false)
            as is_up_before,
        cast(round(joined.rate_bps * crossings.demand_frac) as bigint) as demand_bps,
        cast(round(joined.before_bps * crossings.demand_frac) as bigint) as before_bps,
        cast(crossings.capacity_bps as bigint) as most_bps,
        joined.is_joined,
        joined.is_end
    from crossings
    inner join joined on crossings.i_wanted = joined.i_wanted
