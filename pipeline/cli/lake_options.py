"""``--lake``: a lake as the command line gives it, in a folder or a bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

__all__ = ["LakeOption", "MaybeLakeOption", "ResultsOption", "lake_address"]

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


LakeOption = Annotated[Path, typer.Option("--lake", metavar="LAKE", parser=lake_address, help=_HELP)]
MaybeLakeOption = Annotated[Path | None, typer.Option("--lake", metavar="LAKE", parser=lake_address, help=_HELP)]
ResultsOption = Annotated[
    Path | None,
    typer.Option("--results", metavar="DIR", help="Of a lake in a bucket: folder of this machine for what is found."),
]
