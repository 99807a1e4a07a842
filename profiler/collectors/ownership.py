"""Whose sockets are whose: those of some processes told from all others of their network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from profiler.collectors.processes import socket_inodes

__all__ = ["Lost", "Ownership", "Socket"]

LOOK_EVERY_S: Final = 0.2
"""How often the processes and their sockets are looked up; what a socket moved since it was opened counts then."""
LOOK_SOON_S: Final = 0.02
"""How often, while there are sockets that nothing is known of."""
LOOK_DUTY: Final = 0.05
"""Most of the time that looking up may take: where processes are many, it is done less often."""


class Socket(NamedTuple):
    """A TCP socket, and what it sent and received; the inode is 0 before it is accepted and once it is closed."""

    cookie: int
    inode: int
    moved: tuple[int, int]


class Lost(NamedTuple):
    """Sockets that ended before it was known whose they were, and what they sent and received."""

    n_sockets: int = 0
    sent_bytes: int = 0
    received_bytes: int = 0


class Ownership:
    """Tells the sockets of some processes from those of others.

    To look takes long where a host has many processes, so that new sockets are first looked for among the processes
    that were known at the last look.

    Parameters
    ----------
    pids
        Returns the processes at this moment; none once they have ended.
    sockets
        Those that are open now.

    Attributes
    ----------
    counted : dict
        Of each socket of the processes, by its cookie, what it had moved when it was last counted.
    is_over : bool
        Whether the processes have ended.
    lost : Lost
        Sockets that moved something, and ended before it was known whose they were.
    """

    def __init__(self, pids: Callable[[], set[int]], sockets: Sequence[Socket]) -> None:
        self._pids = pids
        self._known_pids: set[int] = set()
        self._foreign: set[int] = set()
        # Closed before there was anyone to ask: nobody's loss.
        self._unknown: dict[int, tuple[int, int]] = {}
        self._orphans = {found.cookie for found in sockets if not found.inode}
        self.counted: dict[int, tuple[int, int]] = {}
        self.lost = Lost()
        self.is_over = False
        self._look(sockets, are_old=True)
        self._glance(sockets)

    @property
    def n_known(self) -> int:
        """How many sockets are known, the processes' and others'."""
        return len(self.counted) + len(self._foreign)

    @property
    def slowest_s(self) -> tuple[float, float]:
        """How long it may take until a new socket is known: of a process known before, and of a new one."""
        return (
            max(LOOK_SOON_S, self._glance_cost_s / LOOK_DUTY),
            max(LOOK_SOON_S, self._look_cost_s / LOOK_DUTY),
        )

    def update(self, sockets: Sequence[Socket]) -> None:
        """Take what is open now: look up whose the new ones are if it is time, and forget those that have ended.

        The kernel's list comes first: whoever is in it and not among the processes' files is another's.
        """
        self._forget({found.cookie for found in sockets})
        is_new = any(found.inode and not self._is_known(found.cookie) for found in sockets)
        now_s = time.monotonic()
        if now_s - self._looked_s >= max(LOOK_SOON_S if is_new else LOOK_EVERY_S, self._look_cost_s / LOOK_DUTY):
            self._look(sockets)
        elif is_new and now_s - self._glanced_s >= max(LOOK_SOON_S, self._glance_cost_s / LOOK_DUTY):
            self._glance(sockets)
        self._unknown = {
            found.cookie: found.moved
            for found in sockets
            if not self._is_known(found.cookie) and found.cookie not in self._orphans
        }

    def _is_known(self, cookie: int) -> bool:
        return cookie in self.counted or cookie in self._foreign

    def _look(self, sockets: Iterable[Socket], *, are_old: bool = False) -> None:
        """Look among all processes; a socket that was another's, or is older than the first look, counts from now."""
        start_s = time.monotonic()
        self._known_pids = self._pids()
        inodes = socket_inodes(self._known_pids)
        self.is_over = not self._known_pids
        for cookie, inode, moved in sockets:
            if cookie in self.counted or not inode:  # not yet accepted, or closed already
                continue
            if inode in inodes:
                self.counted[cookie] = moved if are_old or cookie in self._foreign else (0, 0)
                self._foreign.discard(cookie)
            else:
                self._foreign.add(cookie)
        self._looked_s = self._glanced_s = time.monotonic()
        self._look_cost_s = self._looked_s - start_s

    def _glance(self, sockets: Iterable[Socket]) -> None:
        """Look among the processes known; what is not found there may be a new one's."""
        start_s = time.monotonic()
        inodes = socket_inodes(self._known_pids)
        for cookie, inode, _ in sockets:
            if inode in inodes and not self._is_known(cookie):
                self.counted[cookie] = (0, 0)
        self._glanced_s = time.monotonic()
        self._glance_cost_s = self._glanced_s - start_s

    def _forget(self, alive: set[int]) -> None:
        ended = [moved for cookie, moved in self._unknown.items() if cookie not in alive and any(moved)]
        for sent_bytes, received_bytes in ended:
            lost = self.lost
            self.lost = Lost(lost.n_sockets + 1, lost.sent_bytes + sent_bytes, lost.received_bytes + received_bytes)
        self.counted = {cookie: moved for cookie, moved in self.counted.items() if cookie in alive}
        self._foreign &= alive
        self._orphans &= alive
