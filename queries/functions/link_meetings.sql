-- purpose: on links that several jobs cross, stretches of time in which the same jobs are Up at one rate each
-- params: link text: only this link; null: all
-- returns: link_id, direction, t_ns integer (end of the stretch), window_ns integer (its length), bin_ns,
--   capacity_bps, n_jobs, n_jobs_up, n_jobs_up_before (in the stretch before; null: not all were observed),
--   jobs_up, demand_bps, over_bytes integer (in the whole stretch)
-- example: from link_meetings('trunk') where n_jobs_up > 1
--
-- What the columns mean is told in view link_contention, which has a row for each bin of a stretch. The
-- stretches of function link_bursts of all jobs of a link are merged in one pass in order of time: each job
-- adds what it asks for where a stretch begins, and takes away what it asked for before.
create macro link_meetings(link) as table
    with turns as (
        select
            *,
            least(demand_bps, most_bps) as carried_bps,
            least(before_bps, most_bps) as carried_before_bps,
            unnest(case when is_end then [true, false] else [true] end) as is_start
        from link_bursts(link)
    ),

    steps as (
        select
            i_link,
            case when is_start then i_from else i_to + 1 end as i_bin,
            case when not is_start then -1 when is_joined then 0 else 1 end as n_more,
            case
                when is_up = (is_start and is_up_before) then 0
                when is_start and is_up then 1
                else -1
            end as n_more_up,
            case
                when not is_start then -demand_bps
                when is_joined then demand_bps - before_bps
                else demand_bps
            end as more_bps,
            case
                when not is_start then -carried_bps
                when is_joined then carried_bps - carried_before_bps
                else carried_bps
            end as more_carried_bps,
            case
                when is_up != (is_start and is_up_before)
                    then set_bit(cast(repeat('0', n_jobs) as bit), i_job, 1)
            end as turned
        from turns
    ),

    changes as (
        select
            i_link,
            i_bin,
            cast(sum(n_more) as bigint) as n_more,
            cast(sum(n_more_up) as bigint) as n_more_up,
            cast(sum(more_bps) as bigint) as more_bps,
            cast(sum(more_carried_bps) as bigint) as more_carried_bps,
            bit_xor(turned) as turned
        from steps
        group by i_link, i_bin
    ),

    sums as (
        select
            i_link,
            i_bin,
            lead(i_bin) over in_time as i_next,
            sum(n_more) over in_time as n_observed,
            sum(n_more) over in_time - n_more as n_observed_before,
            sum(n_more_up) over in_time as n_jobs_up,
            sum(n_more_up) over in_time - n_more_up as n_jobs_up_before,
            sum(more_bps) over in_time as demand_bps,
            sum(more_carried_bps) over in_time as carried_bps,
            bit_xor(turned) over in_time as ups
        from changes
        window in_time as (partition by i_link order by i_bin)
    ),

    shared as (
        select
            link_id,
            direction,
            i_link,
            n_jobs,
            bin_ns,
            capacity_bps,
            list({ 'job_id': job_id, 'i_job': cast(i_job as integer) } order by i_job) as jobs
        from link_crossings
        group by link_id, direction, i_link, n_jobs, bin_ns, capacity_bps
    )

    select
        shared.link_id,
        shared.direction,
        sums.i_next * shared.bin_ns as t_ns,
        (sums.i_next - sums.i_bin) * shared.bin_ns as window_ns,
        shared.bin_ns,
        shared.capacity_bps,
        shared.n_jobs,
        cast(sums.n_jobs_up as bigint) as n_jobs_up,
        case when sums.n_observed_before = shared.n_jobs then cast(sums.n_jobs_up_before as bigint) end
            as n_jobs_up_before,
        coalesce(
            array_to_string(
                list_transform(
                    list_filter(shared.jobs, lambda job: get_bit(sums.ups, job.i_job) = 1), -- noqa: RF01
                    lambda job: job.job_id -- noqa: RF01
                ),
                ', '
            ),
            ''
        ) as jobs_up,
        cast(sums.demand_bps as double) as demand_bps,
        (sums.i_next - sums.i_bin) * cast(
            round(greatest(sums.carried_bps - shared.capacity_bps, 0) * shared.bin_ns / 8e9) as bigint
        ) as over_bytes
    from sums
    inner join shared on sums.i_link = shared.i_link
    where sums.n_observed = shared.n_jobs
