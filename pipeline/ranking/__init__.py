"""Which of many placements lets its jobs share the links best."""

from __future__ import annotations

from pipeline.ranking.candidate import Candidate
from pipeline.ranking.candidatefile import read_candidates
from pipeline.ranking.rank import rank
from pipeline.ranking.result import Criterion, RankedCandidate, Ranking

__all__ = ["Candidate", "Criterion", "RankedCandidate", "Ranking", "rank", "read_candidates"]
