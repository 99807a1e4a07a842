"""``--lake`` and what goes with it: a lake in a folder or a bucket, where results go, and files of links and jobs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

__all__ = ["ClusterOption", "LakeOption", "MaybeLakeOption", "ResultsOption", "lake_address"]

_HELP: Final = "The lake: a folder, or s3://BUCKET/FOLDER or gs://BUCKET/FOLDER."


def lake_address(text: str) -> Path:
    """Return the place of a lake.

    Raises
    ------
    UsageError
        If it is the address of no bucket that can be read.
    """
    if "://" not in text:  # what reads buckets is not loaded where there is none
        return Path(text)
    from profiler.store.remote.address import locate

    return locate(text)


ClusterOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--cluster",
        metavar="FILE",
        help="File that tells links or jobs, such as cluster.toml; may be repeated. Else what the lake knows of them.",
    ),
]
LakeOption = Annotated[Path, typer.Option("--lake", metavar="LAKE", parser=lake_address, help=_HELP)]
MaybeLakeOption = Annotated[Path | None, typer.Option("--lake", metavar="LAKE", parser=lake_address, help=_HELP)]
ResultsOption = Annotated[
    Path | None,
    typer.Option(
        "--results", metavar="DIR", help="Folder of this machine for what is found, where the lake is in a bucket."
    ),
]
