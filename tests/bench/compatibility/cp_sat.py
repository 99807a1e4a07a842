"""CP-SAT of OR-Tools: one binary variable a job and millisecond of shift, one excess variable a millisecond of circle.

Exact on cases of whole milliseconds: minimise the sum over t of ``e_t >= 0`` with ``e_t >= sum of the jobs' rates at t
- C``, each job at one shift. What is timed is the search, not the making of the model.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from tests.bench.compatibility.answer import Answer
from tests.bench.compatibility.exact import NS_PER_MS
from tests.bench.options import cp_sat_limit_s

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    from tests.bench.compatibility.cases import Case

__all__ = ["MAX_TERMS", "cp_sat"]

MAX_TERMS: Final = 400_000
"""A model of more terms takes longer to state than the search may last."""


def cp_sat(case: Case) -> Answer | None:
    """Return the best shifts found on one thread within the time limit; None where the model is too large."""
    from ortools.sat.python import cp_model

    n_shifts = [1, *(job.period_ms for job in case.jobs[1:])]
    if sum(n_shifts) * case.span_ms > MAX_TERMS:
        return None
    model = cp_model.CpModel()
    chosen = [[model.new_bool_var("") for _ in range(n)] for n in n_shifts]
    for shifts in chosen:
        model.add_exactly_one(shifts)
    model.minimize(cp_model.LinearExpr.sum(_excesses(model, case, chosen)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = cp_sat_limit_s()
    start_s = time.process_time()
    status = solver.solve(model)
    spent_s = time.process_time() - start_s
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return None
    whole = case.capacity_mbps * case.span_ms
    return Answer(
        score=1 - solver.objective_value / whole,
        shifts_ns=tuple(next(s for s, is_at in enumerate(job) if solver.value(is_at)) * NS_PER_MS for job in chosen),
        gap=(solver.objective_value - solver.best_objective_bound) / whole,
        spent_s=spent_s,
    )


def _excesses(model: cp_model.CpModel, case: Case, chosen: list[list[cp_model.IntVar]]) -> list[cp_model.IntVar]:
    from ortools.sat.python import cp_model

    most = sum(max(job.rates_mbps) for job in case.jobs)
    excesses = []
    for t in range(case.span_ms):
        variables, rates = [], []
        for job, shifts in zip(case.jobs, chosen, strict=True):
            for shift_ms, is_at in enumerate(shifts):
                if rate := job.rate_at(t - shift_ms):
                    variables.append(is_at)
                    rates.append(rate)
        excess = model.new_int_var(0, max(0, most - case.capacity_mbps), "")
        model.add(cp_model.LinearExpr.weighted_sum(variables, rates) - case.capacity_mbps <= excess)
        excesses.append(excess)
    return excesses
