"""Fixtures of tests that read lakes in buckets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.buckets import KEYS, S3Server, s3_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server of buckets know its client, by the keys alone."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Return an empty server of buckets, whose client the module's own fixtures are too."""
    with pytest.MonkeyPatch.context() as patch, s3_server() as found:
        for name, value in KEYS.items():
            patch.setenv(name, value)
        yield found
