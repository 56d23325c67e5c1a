"""Hostile but legal requests of up to 3 MiB, over all verbs, patch types and kinds.

Each case is a function that makes requests of about as many bytes as it is given, so that the same
case can be played small (to compare work at one size and at twice that) and large.
"""

from __future__ import annotations

from tests.apiserver.hostile.corpus import cluster_api, documents, metadata, patches
from tests.apiserver.hostile.corpus.case import CASES, Call, Case
from tests.apiserver.hostile.corpus.kinds import CRD

__all__ = ["CASES", "CRD", "Call", "Case", "cluster_api", "documents", "metadata", "patches"]
