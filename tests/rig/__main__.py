"""The rig's command line: ``python -m tests.rig --help``."""
# No "from __future__ import annotations" here: typer reads annotations at run time.

import shlex
import signal
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.printer import Format, JsonFlag, note, print_json, print_rows
from profiler.errors import UsageError
from profiler.units import parse_duration_s
from tests.rig.claim import Claim, Runs, measure_claim, paces_from_plan, paces_from_slots
from tests.rig.errors import RigError
from tests.rig.exits import exit_code_of
from tests.rig.observers import capture_trunk, exec_prefix
from tests.rig.registry import Entry, build, entries, is_orphan, stray_namespaces, sweep
from tests.rig.requirements import missing_for_network, require
from tests.rig.rig import Rig
from tests.rig.samples import SampleTimes, make_samples
from tests.rig.spec import TWO_VGG19, read_spec
from tests.rig.truth import Truth, require_iterations, summary_s, write_truth

app = typer.Typer(
    help="A real network on one machine, and real training jobs across it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Spec = Annotated[Path, typer.Option("--spec", help="Description of network and jobs, TOML or JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]
Duration = Annotated[str, typer.Option("--for", help="How long.")]


@app.command()
def up(spec: Spec = TWO_VGG19) -> None:
    """Build the network, without jobs, and leave it standing.

    Example: python -m tests.rig up
    """
    require(missing_for_network())
    rig = read_spec(spec)
    network = build(tuple(job.name for job in rig.jobs), rig.network, owner_pid=None).network
    for node in network.nodes:
        sys.stdout.write(f"{node}\t{shlex.join(exec_prefix(network, node))}\n")


@app.command()
def down(
    prefix: Annotated[str | None, typer.Argument(help="Only this rig.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Also rigs whose owner is at work.")] = False,
) -> None:
    """Remove rigs: those left by `up`, those whose owner died, and stray namespaces of rigs.

    Example: python -m tests.rig down
    """
    require(missing_for_network())
    if prefix is not None and prefix not in (entry.network.prefix for entry in entries()):
        raise RigError(f"no rig {prefix!r} stands here; python -m tests.rig status lists them")

    def is_meant(entry: Entry) -> bool:
        is_at_work = entry.owner_pid is not None and not is_orphan(entry)
        return prefix in (None, entry.network.prefix) and (force or not is_at_work)

    for name in sweep(is_meant):
        note(f"removed {name}")


@app.command()
def status() -> None:
    """List the rigs that stand, and what is missing for one.

    Example: python -m tests.rig status
    """
    missing = missing_for_network()
    for what in missing:
        note(f"missing: {what}")
    rows = [_entry_row(entry) for entry in entries()]
    rows += [{"rig": name, "owner": "none: stray", "nodes": ""} for name in (() if missing else stray_namespaces())]
    if rows:
        print_rows(rows, output=Format.TABLE)


@app.command()
def run(
    spec: Spec = TWO_VGG19,
    seconds: Duration = "30s",
    counters: Annotated[Path | None, typer.Option(help="Sample the switch's counters into this .csv.gz.")] = None,
    truth: Annotated[Path | None, typer.Option(help="Write what the jobs did into this .json.")] = None,
    capture: Annotated[Path | None, typer.Option(help="Then capture the trunk for 2 s into this .pcap.")] = None,
    force: Force = False,
    as_json: JsonFlag = False,
) -> None:
    """Build the network, run the jobs for a time, and take all down.

    Example: python -m tests.rig run --for 30s --counters shared.csv.gz --truth shared.truth.json
    """
    _refuse_existing((path for path in (counters, truth, capture) if path), force=force)
    with Rig(read_spec(spec)) as rig:
        rig.start()
        note(f"running; on the switch: {shlex.join(rig.exec_prefix('sw1'))} offbeat profile --iface p1 --for 15s")
        if counters:
            rig.sample(parse_duration_s(seconds), counters)
        else:
            time.sleep(parse_duration_s(seconds))
        if capture:
            rig.capture(2.0, capture)
        told = rig.stop()
    if truth:
        write_truth(truth, told)
    require_iterations(told, "run")
    rows = _truth_rows(told)
    print_json({"kind": "rig_run", "version": 1, "jobs": rows}) if as_json else _print_table(rows)


@app.command()
def capture(
    prefix: Annotated[str, typer.Argument(help="Rig that stands; see status.")],
    out: Annotated[Path, typer.Argument(help="The .pcap to write.")],
    seconds: Duration = "2s",
    force: Force = False,
) -> None:
    """Capture the headers of the trunk's packets of a rig that stands.

    Example: python -m tests.rig capture ob12ab- trunk.pcap --for 2s
    """
    _refuse_existing([out], force=force)
    network = next((entry.network for entry in entries() if entry.network.prefix == prefix), None)
    if network is None:
        raise RigError(f"no rig {prefix!r} stands here; python -m tests.rig status lists them")
    capture_trunk(network, out, seconds=parse_duration_s(seconds))


@app.command("sample-data")
def sample_data(
    folder: Annotated[Path, typer.Argument(help="Where to write.")],
    spec: Spec = TWO_VGG19,
    shared: Annotated[str, typer.Option(help="How long both jobs are sampled.")] = "60s",
    alone: Annotated[str, typer.Option(help="How long each job is sampled alone.")] = "30s",
    force: Force = False,
) -> None:
    """Record the project's sample data.

    Example: python -m tests.rig sample-data sample_data --force
    """
    if folder.exists():
        _refuse_existing(folder.iterdir(), force=force)
    times = SampleTimes(shared_s=parse_duration_s(shared), alone_s=parse_duration_s(alone))
    for line in make_samples(folder, read_spec(spec), times):
        sys.stdout.write(line + "\n")


@app.command()
def claim(
    plan: Annotated[Path | None, typer.Option(help="Shift plan of offbeat analyze --json, for the paced runs.")] = None,
    period: Annotated[str | None, typer.Option(help="Or: slot period.")] = None,
    shift: Annotated[list[str] | None, typer.Option(help="With --period: a job's shift, as B=133ms.")] = None,
    spec: Spec = TWO_VGG19,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of one unmanaged and one paced run.")] = 3,
    seconds: Duration = "40s",
    keep: Annotated[Path | None, typer.Option(help="Folder for counters and truth of each run.")] = None,
    seed: Annotated[int, typer.Option(help="Of start offsets and jitter.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Measure what pacing gains: the same jobs unmanaged and paced, rounds interleaved.

    Example: python -m tests.rig claim --period 266ms --shift B=133ms --rounds 3
    """
    rig_spec = read_spec(spec)
    names = [job.name for job in rig_spec.jobs]
    if (plan is None) == (period is None):
        raise UsageError("give either --plan, or --period with --shift")
    paces = (
        paces_from_plan(plan, names)
        if plan is not None
        else paces_from_slots(parse_duration_s(str(period)), shift or [], names)
    )
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    runs = Runs(n_rounds=rounds, seconds=parse_duration_s(seconds), seed=seed, keep=keep)
    measured = []
    with Rig(rig_spec) as rig:
        for done in measure_claim(rig, paces, runs):
            note(f"round {done.i_round} {done.mode} done")
            measured.append(done)
    _print_claim(Claim(rounds=tuple(measured)), as_json=as_json)


def main() -> int:
    """Run one command and return its exit code."""
    return exit_code_of(app)


def _refuse_existing(paths: Iterable[Path], *, force: bool) -> None:
    existing = [str(path) for path in paths if path.exists()]
    if existing and not force:
        raise UsageError(f"{', '.join(existing)}: exists; give --force to overwrite")


def _entry_row(entry: Entry) -> dict[str, str]:
    if entry.owner_pid is None:
        owner = "none: stands until down"
    else:
        owner = f"{entry.owner_pid} (dead)" if is_orphan(entry) else str(entry.owner_pid)
    return {"rig": entry.network.prefix, "owner": owner, "nodes": " ".join(entry.network.nodes)}


def _truth_rows(told: Truth) -> list[dict[str, object]]:
    return [
        {
            "job": job,
            **summary_s(truth.durations_s()),
            "up_p50_s": summary_s(truth.communication_s())["p50_s"],
            "n_adjustments": truth.pacer["n_adjustments"],
        }
        for job, truth in told.items()
    ]


def _print_claim(claim: Claim, *, as_json: bool) -> None:
    document = claim.to_dict()
    if as_json:
        print_json(document)
        return
    for rows in (document["rounds"], document["pooled"], document["speedup"]):
        _print_table(rows)
        sys.stdout.write("\n")


def _print_table(rows: Iterable[Mapping[str, object]]) -> None:
    short = [{name: f"{x:.4g}" if isinstance(x, float) else x for name, x in row.items()} for row in rows]
    print_rows(short, output=Format.TABLE)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a rig is taken down
    sys.exit(main())
