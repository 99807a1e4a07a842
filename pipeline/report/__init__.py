"""Results to charts to one self-contained HTML page: read `page` first."""

from __future__ import annotations

from pipeline.report.advice import Advice, advise
from pipeline.report.page import Origin, render
from pipeline.report.summary import summarize

__all__ = ["Advice", "Origin", "advise", "render", "summarize"]
