"""The places of recorded data: `../shared`, and the sample that a clone has in `tests/data`.

This is the only module of tests and benchmarks that knows the place of `../shared`. A test that
needs recorded data takes it from `data(...)`, so that it runs on the sample in a clone that stands
alone. A test that needs all of the data is marked `recorded` and runs where the data is.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.oracle.registry import PURE

ROOT: Final = Path(__file__).resolve().parents[2]
SHARED: Final = ROOT.parent / "shared"
RECORDED: Final = SHARED / "oracle"
PROVIDERS: Final = SHARED / "upstream" / "providers"
SAMPLES: Final = ROOT / "tests" / "data"

SUBTOPICS: Final = (
    "crud",
    "patch",
    "apply",
    "subresources",
    "metadata",
    "watch",
    "list",
    "schema",
    "cel",
    "webhooks",
    "auth",
    "crds",
    "core",
    "discovery",
    "gc",
    "namespaces",
)
"""Subtopics of `apiserver` whose cases must pass."""

HELD: Final = ("admission", "conversion", "gotemplate", "variables")
"""Topics with a way of their own to be replayed, every case of which passes, but for known ones."""


TOPICS: Final = (
    *("admission-unit", "apiserver", "clusterctl", "extension", "metrics", "traces"),
    *PURE,
    *HELD,
)
"""Everything that was recorded."""


def data(place: str) -> Path:
    """A file or folder of recorded data, its sample where the data is not on this machine.

    place: below `../shared`. The sample of `oracle/TOPIC/…` is `tests/data/TOPIC/…`, and that of
    everything else has the same place below `tests/data`. `tests/oracle/sampling.py` makes it.
    """
    full = SHARED / place
    return full if full.exists() else SAMPLES / place.removeprefix("oracle/")


def absent() -> list[str]:
    """The topics whose recorded data is not on this machine."""
    return [topic for topic in TOPICS if not (RECORDED / topic).is_dir()]


def is_missing() -> bool:
    """Whether tests over all of the recorded data cannot run here.

    With CI=true they run nevertheless and fail, as a build server must not pass without the data.
    KAPY_ALONE=true is for the run of a build server in a clone that has nothing beside it.
    """
    is_demanded = os.environ.get("CI") == "true" and os.environ.get("KAPY_ALONE") != "true"
    return bool(absent()) and not is_demanded
