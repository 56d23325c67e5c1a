"""Where the recorded cases are, and what it means when they are not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from tests.oracle.registry import PURE

ROOT: Final = Path(__file__).resolve().parents[2]
RECORDED: Final = ROOT.parent / "shared" / "oracle"
PROVIDERS: Final = ROOT.parent / "shared" / "upstream" / "providers"
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
"""What of `apiserver` must hold so far."""

HELD: Final = ("admission", "conversion", "gotemplate", "variables")
"""Topics with a way of their own to be replayed, every case of which passes, but for known ones."""


def absent() -> list[str]:
    """The topics whose recorded cases are not on this machine."""
    return [topic for topic in ("apiserver", *PURE, *HELD) if not (RECORDED / topic).is_dir()]


def must_be_there() -> bool:
    """Whether missing data is a failure: a build server must not pass without it."""
    return os.environ.get("CI") == "true"
