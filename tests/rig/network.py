"""The rig's network: what stands where, and the commands that build it.

::

    a1 ── p1 ┐                    ┌ p1 ── a2
    b1 ── p2 ┤ sw1 t1 ════ t1 sw2 ├ p2 ── b2
             ┘       trunk        └

Every node is a network namespace named ``<prefix><node>``, every link a veth pair made with its ends in place, so
nothing is ever added to the machine's own network, and deleting the namespaces removes everything.

The trunk serves the jobs in turn, whoever came first, as RDMA's congestion control shares a link. In one common queue
the job that came first is served first, and two jobs interleave by themselves within seconds.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tests.rig.errors import RigError

if TYPE_CHECKING:
    from tests.rig.spec import NetworkSpec

__all__ = ["MARK", "SWITCHES", "TRUNK", "Cable", "Network", "run_command"]

MARK: Final = "offbeat-rig"
"""Alias of ``lo`` in each namespace of a rig: none other is ever deleted."""
SWITCHES: Final = ("sw1", "sw2")
TRUNK: Final = "t1"

_MTU: Final = 9000
"""Jumbo frames, as RDMA fabrics carry: they hold the 4096-byte payload, and cost the machine half the interrupts."""
_PACKET_BYTES: Final = _MTU + 14
_BURST_BYTES: Final = 3 * _PACKET_BYTES
"""The job that finds the trunk idle gets a bucket for nothing: of 64 KiB, this alone drives two jobs apart by more than
a millisecond an iteration. With less than three packets, the kernel's timers lose rate."""
_QUEUE_BYTES: Final = 256 * 1024 * 1024
"""More than all connections together can have in flight: the queue never drops, like an RDMA fabric's."""
_GUARANTEE: Final = "1mbit"
"""A token rate of its own lets a job that was idle send beside the trunk's rate; with next to none, the jobs borrow all
from the trunk's one bucket, packet by packet in turn."""
_SYSCTLS: Final = (
    "net.ipv4.tcp_slow_start_after_idle=0",  # each iteration would begin with a slow start
    "net.ipv4.tcp_congestion_control=reno",  # part of every Linux, and set: machines differ in their default
    "net.ipv4.tcp_wmem=4096 65536 131072",  # little in flight, as RDMA's congestion control keeps it
    "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv6.conf.all.disable_ipv6=1",  # router solicitations would be traffic of no job
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cable:
    """One link, end a and end b, each a node and its port."""

    link: str
    a: tuple[str, str]
    b: tuple[str, str]
    tier: str
    rate_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The network for some jobs: two hosts a job, one behind each switch.

    Parameters
    ----------
    prefix : str
        Begins the name of every namespace of this rig.
    jobs : tuple of str
        Names of the jobs; job i sits on port i + 1 of both switches.
    spec : NetworkSpec
        Rates.
    """

    prefix: str
    jobs: tuple[str, ...]
    spec: NetworkSpec

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of hosts and switches."""
        return (*(host for job in self.jobs for host in self.hosts(job)), *SWITCHES)

    @property
    def cables(self) -> tuple[Cable, ...]:
        """Every link; the trunk first."""
        return (
            Cable(link="trunk", a=("sw1", TRUNK), b=("sw2", TRUNK), tier="spine", rate_bps=self.spec.trunk_bps),
            *(
                Cable(link=host, a=(host, "eth0"), b=(switch, self.port(job)), tier="host", rate_bps=self.spec.host_bps)
                for job in self.jobs
                for host, switch in zip(self.hosts(job), SWITCHES, strict=True)
            ),
        )

    def hosts(self, job: str) -> tuple[str, str]:
        """Return the hosts of a job's two ranks."""
        return f"{job.lower()}1", f"{job.lower()}2"

    def port(self, job: str) -> str:
        """Return the port that faces a job's host, the same on both switches."""
        return f"p{self.jobs.index(job) + 1}"

    def address(self, job: str, *, rank: int) -> str:
        """Return the address of a job's rank."""
        return f"10.77.{self.jobs.index(job)}.{rank + 1}"

    def namespace(self, node: str) -> str:
        """Return the name of a node's namespace.

        Raises
        ------
        RigError
            If there is no such node.
        """
        if node not in self.nodes:
            raise RigError(f"rig {self.prefix}: no node {node!r}; it has {', '.join(self.nodes)}")
        return self.prefix + node

    def cluster_toml(self) -> str:
        """Return the network and its jobs as the text of a cluster file."""
        blocks = [
            f'[[link]]\nid = "{cable.link}"\na = "{":".join(cable.a)}"\nb = "{":".join(cable.b)}"\n'
            f'tier = "{cable.tier}"\ncapacity = "{cable.rate_bps / 1e6:g}Mbps"\n'
            for cable in self.cables
        ]
        for job in self.jobs:
            ranks = ", ".join(f'{{host = "{host}", device = "eth0"}}' for host in self.hosts(job))
            blocks.append(f'[[job]]\nid = "{job}"\nranks = [{ranks}]\n')
        for job in self.jobs:
            for rank, host in enumerate(self.hosts(job)):
                blocks.append(f'[[host]]\nname = "{host}"\naddresses = ["{self.address(job, rank=rank)}"]\n')
        switch = SWITCHES[0]
        head = f"# The rig's network. Counters were read on switch {switch}: ingest them with --host {switch}.\n"
        return head + "\n".join(blocks)

    def build(self) -> None:
        """Make the network.

        Raises
        ------
        RigError
            If a command fails; what was made so far stays, for the registry to remove.
        """
        for command in self._commands():
            run_command(command)

    def _commands(self) -> Iterator[list[str]]:
        for node in self.nodes:
            yield from _node_commands(self.namespace(node))
        for switch in SWITCHES:
            yield ["ip", "-n", self.namespace(switch), "link", "add", "br0", "mtu", str(_MTU), "type", "bridge"]
            yield ["ip", "-n", self.namespace(switch), "link", "set", "br0", "up"]
        for cable in self.cables:
            yield from self._cable_commands(cable)
        for job in self.jobs:
            for rank, host in enumerate(self.hosts(job)):
                address = f"{self.address(job, rank=rank)}/24"
                yield ["ip", "-n", self.namespace(host), "address", "add", address, "dev", "eth0"]

    def _cable_commands(self, cable: Cable) -> Iterator[list[str]]:
        (node_a, port_a), (node_b, port_b) = cable.a, cable.b
        mtu = ["mtu", str(_MTU)]
        yield [
            *("ip", "link", "add", port_a, *mtu, "netns", self.namespace(node_a), "type", "veth"),
            *("peer", "name", port_b, *mtu, "netns", self.namespace(node_b)),
        ]
        for node, port in (cable.a, cable.b):
            if node in SWITCHES:
                yield ["ip", "-n", self.namespace(node), "link", "set", port, "master", "br0"]
            # One segment a packet: what is counted and captured is what a wire would carry.
            yield ["ip", "-n", self.namespace(node), "link", "set", port, "gso_max_segs", "1", "up"]
            yield from self._trunk_shaping(node) if port == TRUNK else self._host_shaping(node, port)

    def _host_shaping(self, node: str, port: str) -> Iterator[list[str]]:
        rate = ["rate", f"{self.spec.host_bps:.0f}bit", "burst", str(_BURST_BYTES), "limit", str(_QUEUE_BYTES)]
        yield ["tc", "-n", self.namespace(node), "qdisc", "add", "dev", port, "root", "tbf", *rate]

    def _trunk_shaping(self, switch: str) -> Iterator[list[str]]:
        qdisc, class_, filter_ = (
            ["tc", "-n", self.namespace(switch), kind, "add", "dev", TRUNK] for kind in ("qdisc", "class", "filter")
        )
        rate = f"{self.spec.trunk_bps:.0f}bit"
        bucket = ["burst", str(_BURST_BYTES), "cburst", str(_BURST_BYTES)]
        share = ["rate", _GUARANTEE, "burst", str(_PACKET_BYTES), "ceil", rate, "cburst", str(_BURST_BYTES)]
        yield [*qdisc, "root", "handle", "1:", "htb"]
        yield [*class_, "parent", "1:", "classid", "1:1", "htb", "rate", rate, *bucket]
        for i, _ in enumerate(self.jobs):
            job_class = f"1:{i + 0x10:x}"
            match = ["match", "ip", "src", f"10.77.{i}.0/24"]
            yield [*class_, "parent", "1:1", "classid", job_class, "htb", *share, "quantum", str(_PACKET_BYTES)]
            yield [*qdisc, "parent", job_class, "bfifo", "limit", str(_QUEUE_BYTES)]
            yield [*filter_, "parent", "1:", "protocol", "ip", "u32", *match, "flowid", job_class]


def run_command(command: Sequence[str]) -> str:
    """Run a command of iproute2 and return its output.

    Raises
    ------
    RigError
        If it fails; with its own message.
    """
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RigError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _node_commands(namespace: str) -> Iterator[list[str]]:
    yield ["ip", "netns", "add", namespace]
    yield ["ip", "-n", namespace, "link", "set", "lo", "alias", MARK]
    yield ["ip", "-n", namespace, "link", "set", "lo", "up"]
    yield ["ip", "netns", "exec", namespace, "sysctl", "--quiet", "--write", *_SYSCTLS]
