"""Results to charts to one self-contained HTML page: read `page` first."""

from __future__ import annotations

from pipeline.report.file import write_page
from pipeline.report.page import Origin, render

__all__ = ["Origin", "render", "write_page"]
