"""Clocks that only working and sleeping move."""

from __future__ import annotations

__all__ = ["FakeClock", "SettableClock"]


class FakeClock:
    """A wall clock in ns; a sleep moves it by the time asked for, or by ``yield_ns`` if that is less."""

    def __init__(self, now_ns: int = 0, *, yield_ns: int = 1_000) -> None:
        self.now_ns = now_ns
        self.slept_s: list[float] = []
        self._yield_ns = yield_ns

    def __call__(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_ns += max(self._yield_ns, round(seconds * 1e9))


class SettableClock(FakeClock):
    """True time is ``now_ns``; the wall clock that it shows is ahead of that by ``ahead_ns``."""

    def __init__(self, now_ns: int = 0, *, ahead_ns: int = 0, yield_ns: int = 100_000) -> None:
        super().__init__(now_ns, yield_ns=yield_ns)
        self.ahead_ns = ahead_ns

    def __call__(self) -> int:
        return self.now_ns + self.ahead_ns

    def steady(self) -> int:
        return self.now_ns
