"""`filesystem`: the file system of a bucket, which gives up in seconds where pyarrow would wait for minutes.

Credentials are those that pyarrow finds [1]_: ``AWS_ACCESS_KEY_ID`` and ``AWS_SECRET_ACCESS_KEY``, ``AWS_PROFILE`` and
the files of the AWS command line, the role of the machine; for ``gs://`` ``GOOGLE_APPLICATION_CREDENTIALS``, what
``gcloud auth application-default login`` left, the machine's account. ``AWS_ENDPOINT_URL`` names a server that is not
Amazon's.

References
----------
.. [1] https://arrow.apache.org/docs/python/filesystems.html
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa
import pyarrow.fs

from profiler.errors import LakeError, UsageError
from profiler.store.remote.faults import told

__all__ = ["OPTIONS", "Bucket", "filesystem"]

OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "s3": ("anonymous", "endpoint_override", "region", "scheme"),
    "gs": ("anonymous", "endpoint_override", "scheme"),
}
"""What an address may tell of the server, by its scheme; the names are pyarrow's."""

CONNECT_S: Final = 5.0
"""A server that does not take the connection by then is not there."""
REQUEST_S: Final = 5.0
"""A server that sends nothing for so long has gone."""
ATTEMPTS: Final = 3
"""Tries of each request: servers that are busy say so, and answer a second later."""
IO_THREADS: Final = 16
"""Requests at a time: a bucket answers each after tens of milliseconds, however many there are."""

_ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_REGIONS: Final = ("AWS_REGION", "AWS_DEFAULT_REGION")
_ANY_REGION: Final = "us-east-1"
"""What servers other than Amazon's take, whatever their place."""


@dataclass(frozen=True, slots=True, order=True)
class Bucket:
    """A bucket, and what the address tells of its server."""

    scheme: str
    name: str
    options: tuple[tuple[str, str], ...] = ()


@lru_cache(maxsize=16)
def filesystem(bucket: Bucket) -> Any:  # noqa: ANN401 - pyarrow has no types
    """Return the file system of a bucket, the same one for all who ask in this process.

    Raises
    ------
    LakeError
        If the region of the bucket cannot be found out.
    UsageError
        If an option of the address has a value that is none.
    """
    pa.set_io_thread_count(max(IO_THREADS, pa.io_thread_count()))
    return _MAKERS[bucket.scheme](bucket, dict(bucket.options))


def _s3(bucket: Bucket, options: Mapping[str, str]) -> Any:  # noqa: ANN401
    endpoint = options.get("endpoint_override") or _first_set(_ENDPOINTS)
    scheme = options.get("scheme")
    return pyarrow.fs.S3FileSystem(
        anonymous=_is_anonymous(bucket, options),
        region=options.get("region") or _first_set(_REGIONS) or (_ANY_REGION if endpoint else _region_of(bucket)),
        endpoint_override=endpoint,
        **({"scheme": scheme} if scheme else {}),
        connect_timeout=CONNECT_S,
        request_timeout=REQUEST_S,
        background_writes=False,  # else all that is written waits in memory until it is sent
        retry_strategy=pyarrow.fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )


def _gs(bucket: Bucket, options: Mapping[str, str]) -> Any:  # noqa: ANN401
    return pyarrow.fs.GcsFileSystem(
        anonymous=_is_anonymous(bucket, options),
        endpoint_override=options.get("endpoint_override"),
        scheme=options.get("scheme", "https"),
        retry_time_limit=timedelta(seconds=REQUEST_S),
    )


_MAKERS: Final[Mapping[str, Callable[[Bucket, Mapping[str, str]], Any]]] = {"s3": _s3, "gs": _gs}


def _is_anonymous(bucket: Bucket, options: Mapping[str, str]) -> bool:
    value = options.get("anonymous", "false").lower()
    if value not in ("true", "false"):
        raise UsageError(f"{bucket.scheme}://{bucket.name}: anonymous={value}: expected true or false")
    return value == "true"


def _region_of(bucket: Bucket) -> str:
    try:
        region: str = pyarrow.fs.resolve_s3_region(bucket.name)
    except OSError as error:
        raise LakeError(
            f"{bucket.scheme}://{bucket.name}: {told(error)}; or set AWS_REGION, and for a server that is not Amazon's "
            "AWS_ENDPOINT_URL"
        ) from error
    return region


def _first_set(names: tuple[str, ...]) -> str | None:
    return next((value for name in names if (value := os.environ.get(name))), None)
