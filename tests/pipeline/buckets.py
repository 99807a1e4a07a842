"""Servers of buckets on this machine for the tests of lakes in them: S3 by moto, Google's by gcp-storage-emulator.

Both are optional: where one is not installed, the tests that need it skip, and say so.
"""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

__all__ = ["KEYS", "S3Server", "gcs_server", "s3_server"]

KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
_OF_CLIENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
BUCKET = "bucket"


@dataclass
class S3Server:
    """A server of buckets, what was asked of it, and a client that is no part of what is tested."""

    endpoint: str
    client: Any
    reads: Counter[str] = field(default_factory=Counter)
    """Requests for the content of each object, by its key."""
    n_bytes: Counter[str] = field(default_factory=Counter)
    """Bytes of it that were sent."""

    def address(self, folder: str) -> str:
        """Return the address of a folder of the bucket, server and all."""
        return f"s3://{BUCKET}/{folder}?endpoint_override={self.endpoint}"

    def forget(self) -> None:
        """Count from here on."""
        self.reads.clear()
        self.n_bytes.clear()

    def read_bytes(self, part: str) -> int:
        """Return the bytes sent of objects whose key has a part."""
        return sum(n for key, n in self.n_bytes.items() if part in key)

    def keys(self, prefix: str = "") -> list[str]:
        """Return the keys of all objects."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def get(self, key: str) -> bytes:
        """Return an object."""
        content: bytes = self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()
        return content

    def put(self, key: str, content: bytes) -> None:
        """Write an object."""
        self.client.put_object(Bucket=BUCKET, Key=key, Body=content)

    def delete(self, key: str) -> None:
        """Delete an object."""
        self.client.delete_object(Bucket=BUCKET, Key=key)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Yield a server with one empty bucket, which counts what is read of each object."""
    boto3 = pytest.importorskip("boto3", reason="needs boto3: pip install moto[server]")
    moto = pytest.importorskip("moto.server", reason="needs a server of S3: pip install moto[server]")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = moto.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        names = {name.lower(): value for name, value in KEYS.items() if name in _OF_CLIENT}
        client = boto3.client("s3", region_name="us-east-1", endpoint_url=endpoint, **names)
        client.create_bucket(Bucket=BUCKET)
        found = S3Server(endpoint, client)
        with _counted(server, found):
            yield found
    finally:
        server.stop()


@contextmanager
def gcs_server() -> Iterator[str]:
    """Yield host and port of a server of Google's kind with one empty bucket.

    It is a process of its own: pyarrow opens its files without giving up Python's lock, which the server would need.
    """
    pytest.importorskip("gcp_storage_emulator", reason="needs a server of gs://: pip install gcp-storage-emulator")
    process = subprocess.Popen([sys.executable, "-c", _GCS, BUCKET], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


_GCS = """
import sys
from http.server import ThreadingHTTPServer
from gcp_storage_emulator import server
server.server.HTTPServer = ThreadingHTTPServer  # its own serves one connection at a time
found = server.create_server("127.0.0.1", 0, in_memory=True, default_bucket=sys.argv[1])
found.start()
print("{}:{}".format(*found._api._httpd.server_address), flush=True)
import time
time.sleep(600)
"""


@contextmanager
def _counted(server: Any, found: S3Server) -> Iterator[None]:
    """Note what is sent of objects."""
    app = server._server.app

    def counting(environ: dict[str, Any], start_response: Any) -> Any:
        key = re.sub(f"^/{BUCKET}/?", "", environ["PATH_INFO"])
        body = app(environ, start_response)
        if environ["REQUEST_METHOD"] == "GET" and key:
            chunks = list(body)
            found.reads[key] += 1
            found.n_bytes[key] += sum(map(len, chunks))
            return chunks
        return body

    server._server.app = counting
    try:
        yield
    finally:
        server._server.app = app
