"""What a bucket complains of, in our words: whether it is the way there, the keys or the object, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from profiler.errors import LakeError

if TYPE_CHECKING:
    from profiler.store.remote.address import RemotePath

__all__ = ["explained", "is_of_bucket", "told"]

_CREDENTIALS: Final = (
    "give credentials that may read it: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, "
    "GOOGLE_APPLICATION_CREDENTIALS for gs://, or ?anonymous=true behind the address if it is open to all"
)
_WAY: Final = "check the network, and the server's address (AWS_ENDPOINT_URL, or ?endpoint_override=HOST:PORT)"
_FAULTS: Final = (
    (
        r"NO_SUCH_BUCKET|bucket '[^']*' does not exist|Bucket .*not found|NOT_FOUND during (CreateMultipart|PutObject)",
        "there is no such bucket",
        "check its name",
    ),
    (
        r"ACCESS_DENIED|FORBIDDEN|status 40[13]|INVALID_ACCESS_KEY|SIGNATURE_DOES_NOT_MATCH|INVALID_CLIENT_TOKEN"
        r"|UNRECOGNIZED_CLIENT|PERMISSION_DENIED|UNAUTHENTICATED|access token|EXPIRED_TOKEN|ExpiredToken",
        "the bucket does not let us read",
        _CREDENTIALS,
    ),
    (r"HEADER_MALFORMED|PermanentRedirect|status 301", "the bucket is in another region", "set AWS_REGION"),
    (r"Timeout was reached|[Tt]imed? ?out", "the server does not answer in time", _WAY),
    (r"NETWORK_CONNECTION|curlCode|CURL error|UNAVAILABLE", "the server cannot be reached", _WAY),
    (r"SLOW_DOWN|status 503|SERVICE_UNAVAILABLE", "the server is too busy", "try again later"),
)
"""What a message has, what that means, and what to do; the first that fits."""
_DETAIL: Final = re.compile(r"Details?: (?P<detail>[^\n]+)|Message: (?P<message>[^\n(]+)")


def told(error: Exception) -> str:
    """Return what is wrong and what to do, for an error of a file system.

    Examples
    --------
    >>> told(OSError("AWS Error NO_SUCH_BUCKET during HeadObject operation"))
    'there is no such bucket; check its name'
    """
    text = str(error)
    found = _DETAIL.search(text)
    detail = "" if found is None else f" ({(found['detail'] or found['message']).strip()})"
    for pattern, what, remedy in _FAULTS:
        if re.search(pattern, text):
            return f"{what}{detail}; {remedy}"
    return text.splitlines()[0] if text else type(error).__name__


def is_of_bucket(error: Exception) -> bool:
    """Return whether an error tells of the way to a bucket or of its rights, not of what an object holds."""
    return any(re.search(pattern, str(error)) for pattern, _, _ in _FAULTS)


@contextmanager
def explained(place: RemotePath) -> Iterator[None]:
    """Turn what a bucket complains of into a `LakeError` that says where, why and what to do."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise LakeError(f"{place}: {told(error)}") from error
