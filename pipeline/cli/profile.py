"""``offbeat profile``: the iteration period and the Up/Down phases of a lake, a file, or this host's live traffic."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from pipeline.cli.lake_options import lake_address
from pipeline.cli.live_sources import Cgroups, Devices, Drivers, Ifaces, LiveSources, Namespaces, Pids
from pipeline.cli.printer import CsvFlag, Format, FormatOption, JsonFlag, chosen_format, note, print_json, print_rows
from profiler.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from profiler.collectors import AnyCounter
    from profiler.phases import TrafficProfile
    from profiler.record import Timing

__all__ = ["profile"]

SYS_ROOT: Final = "/sys"


def profile(
    source: Annotated[
        Path | None,
        typer.Argument(
            parser=lake_address, metavar="[SOURCE]", help="A lake, a table, a capture or a trace; - is stdin."
        ),
    ] = None,
    iface: Ifaces = None,
    device: Devices = None,
    ethtool: Drivers = None,
    pid: Pids = None,
    cgroup: Cgroups = None,
    netns: Namespaces = None,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="Live: time to watch; else until Ctrl-C.")
    ] = None,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval", metavar="TIME", help="Live: time between reads.", show_default="1ms; 10ms with probes"
        ),
    ] = None,
    dither: Annotated[
        bool, typer.Option("--dither", help="Live: read at a random place of each interval, so that none is aliased.")
    ] = False,
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", metavar="FILE", help="SOURCE: columns of the table, a TOML file or a name."),
    ] = None,
    host: Annotated[str | None, typer.Option("--host", metavar="NAME", help="Host that the counters are of.")] = None,
    capacity: Annotated[
        str | None,
        typer.Option("--capacity", metavar="RATE", help="SOURCE: what a port carries, as 400Gbps: more is a fault."),
    ] = None,
    sys_root: Annotated[
        Path | None,
        typer.Option("--sys-root", metavar="DIR", help="Live: root of the kernel's tree.", show_default=SYS_ROOT),
    ] = None,
    output: FormatOption = Format.TABLE,
    as_json: JsonFlag = False,
    as_csv: CsvFlag = False,
) -> None:
    """Find the iteration period and the Up/Down phases of traffic.

    Of every counter and every rank's collectives in SOURCE, or live: of this host's own ports (--iface, --device,
    --ethtool), or of one job's sockets (--pid, --cgroup) or network namespace (--netns). Ctrl-C ends watching and shows
    what was found. Ends with 3 if nothing is periodic.

    Example:

        offbeat profile sample_data/shared.csv.gz

        offbeat profile --iface eth0 --for 20s --json
    """
    from pipeline.cli.profile_table import exact_rows, readable_rows
    from profiler.events import profile_events
    from profiler.phases import profile as profile_rate
    from profiler.sources import read_sources
    from profiler.units import parse_rate_bps

    asked = LiveSources(
        ifaces=iface or (),
        devices=device or (),
        drivers=ethtool or (),
        pids=pid or (),
        cgroups=cgroup or (),
        namespaces=netns or (),
    )
    if (source is None) != asked.is_named:
        raise UsageError(
            "profile: name a SOURCE, or --iface, --device or --pid to watch, not both; see offbeat profile --help"
        )
    if source is not None:
        live = {"--for": duration, "--interval": interval, "--sys-root": sys_root, "--dither": dither or None}
        _refuse(live, why="SOURCE is not watched live")
        capacity_bps = None if capacity is None else parse_rate_bps(capacity)
        rates, events, problems = read_sources(source, mapping=mapping, host=host, capacity_bps=capacity_bps)
        profiles = [*map(profile_rate, rates), *map(profile_events, events)]
    else:
        from profiler.record import Timing
        from profiler.units import parse_duration_s

        _refuse({"--mapping": mapping, "--capacity": capacity}, why="live counters need no reading of a SOURCE")
        profiles, problems = _watch(
            asked,
            timing=Timing(
                interval_s=parse_duration_s(interval or asked.interval),
                duration_s=None if duration is None else parse_duration_s(duration),
                is_dithered=dither,
            ),
            host=host or socket.gethostname(),
            sys_root=sys_root or Path(SYS_ROOT),
        )
    chosen = chosen_format(output, as_json=as_json, as_csv=as_csv)
    if chosen is Format.JSON:
        print_json({"kind": "profile", "version": 1, "series": [found.to_dict() for found in profiles]})
    else:
        rows = exact_rows if chosen is Format.CSV else readable_rows
        print_rows([row for found in profiles for row in rows(found)], output=chosen)
    for problem in problems:
        note(f"offbeat: {problem}")
    if not any(found.status == "periodic" for found in profiles):
        raise typer.Exit(3)


def _refuse(options: Mapping[str, object], *, why: str) -> None:
    """Refuse options that would change nothing."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise UsageError(f"profile: {', '.join(given)}: {why}; leave it out, or see offbeat profile --help")


def _without_bytes(counters: Sequence[AnyCounter]) -> list[str]:
    """Return which sources have no answer, for nothing of theirs counts bytes."""
    by_name: dict[str, set[str]] = {}
    for counter in counters:
        by_name.setdefault(counter.source.name, set()).add(counter.series.metric)
    return [
        f"{name}: {', '.join(sorted(metrics))}: no bytes, of which alone a profile is made; offbeat record keeps these"
        for name, metrics in by_name.items()
        if "bytes" not in metrics
    ]


def _watch(asked: LiveSources, *, timing: Timing, host: str, sys_root: Path) -> tuple[list[TrafficProfile], list[str]]:
    from pipeline.cli.live_table import live_screen
    from profiler.collectors import Source
    from profiler.live import profile_live
    from profiler.record import Sampler, opened, stop_on_signals

    sources, is_over = asked.find(sys_root, host=host, interval_s=timing.interval_s)
    told: list[str] = []
    with opened(sources, host=host) as opening, stop_on_signals() as stop:
        for remark in opening.remarks:
            note(f"offbeat: {remark}")
        if not opening.counters:
            raise opening.broken[-1]
        told += _without_bytes(opening.counters)
        sampler = Sampler(opening.counters, interval_s=timing.interval_s, dither=timing.dither())
        with live_screen(timing.duration_s) as show:
            profiles = profile_live(
                sampler, stop=lambda: stop() or is_over(), duration_s=timing.duration_s, show=show, warn=told.append
            )
        lost = [loss for source in sources if not isinstance(source, Source) for loss in source.lost]
    broken = [*opening.broken, *sampler.broken]
    if not sampler.n_ticks:
        raise broken[-1]
    return profiles, [*told, *map(str, broken), *sampler.returned, *lost]
