"""Which versions of Kubernetes are too old for a management cluster (upstream's `version`)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kapy.kube import Document

PATH: Final = "/version"
_NUMBERS: Final = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?")


class Needed(NamedTuple):
    """The oldest version that will do. why: in words that follow it."""

    version: str
    why: str = ""


ANY: Final = Needed("")
"""Nobody looks."""
OLDEST: Final = Needed("v1.20.0")
OLDEST_WITH_CLASSES: Final = Needed("v1.22.0", " with the feature gate ClusterTopology")


def too_old(told: Document, needed: Needed) -> str:
    """What is wrong with the version that a server tells, "" for nothing. A version that nobody
    understands is none that is known to be too old; pre-releases count as what they precede."""
    found = str(told.get("gitVersion", ""))
    numbers = _numbers(found)
    if numbers is None or numbers >= (_numbers(needed.version) or numbers):
        return ""
    return (
        f"it is Kubernetes {found}, which is too old: {needed.version} or newer is "
        f"needed{needed.why}; upgrade it"
    )


def _numbers(text: str) -> tuple[int, int, int] | None:
    found = _NUMBERS.match(text)
    if found is None:
        return None
    major, minor, patch = found.groups("0")
    return int(major), int(minor), int(patch)
