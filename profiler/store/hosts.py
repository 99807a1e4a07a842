"""Names of sample files by host: how they are given, and which host one may hold."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import Final

__all__ = ["MANY_HOSTS", "MERGED_FILES", "host_in_name", "may_hold"]

MANY_HOSTS: Final = "many"
"""Stands in the place of a host in the name of a file with several."""
MERGED_FILES: Final = "merged"
"""Stands there in the name of a file that was made of others."""


def host_in_name(host: str) -> str:
    """Return how a host is written in the name of a file.

    Examples
    --------
    >>> host_in_name("rack 1/leaf")
    'rack_1_leaf'
    """
    return re.sub(r"[^A-Za-z0-9._-]", "_", host)[:64]


def may_hold(name: str, host: str) -> bool:
    """Return whether a file of that name may hold readings of a host.

    Examples
    --------
    >>> may_hold("sw-1-1796000000-69bf.parquet", "sw"), may_hold("merged-1796000000-69bf.parquet", "sw")
    (False, True)
    """
    return PurePath(name).name.rsplit("-", 2)[0] in (host_in_name(host), MANY_HOSTS, MERGED_FILES)
