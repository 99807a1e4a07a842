-- purpose: the advice for each job: when its first Up phase begins after the common anchor, and the slot to
--   hold
-- params: job_id text = null: only this job
-- returns: job_id, period_s, shift_s, pace_period_s, stretch_frac, hold_s
-- order: job_id
select
    shifts.job_id,
    job_profiles.period_s,
    shifts.shift_s,
    shifts.pace_period_s,
    shifts.stretch_frac,
    shifts.hold_s
from shifts
left join job_profiles on shifts.job_id = job_profiles.job_id
where $job_id is null or shifts.job_id = $job_id
order by shifts.job_id
