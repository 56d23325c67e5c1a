"""Checks whether a Kubernetes version is too old for a management cluster (upstream's
`version`)."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from kapy.kube import Document
from kapy.kube.digits import parse_integer

PATH: Final = "/version"
_NUMBERS: Final = re.compile(r"v?([0-9]+)\.([0-9]+)(?:\.([0-9]+))?")


class MinimumVersion(NamedTuple):
    """The oldest supported version. reason: the reason, in words that follow the version."""

    version: str
    reason: str = ""


ANY: Final = MinimumVersion("")
"""No version check."""
OLDEST: Final = MinimumVersion("v1.20.0")
OLDEST_WITH_CLASSES: Final = MinimumVersion("v1.22.0", " with the feature gate ClusterTopology")


def version_problem(version_info: Document, needed: MinimumVersion) -> str:
    """Return the reason for which a server's version is too old, "" if it is not.

    An unparsable version is not known to be too old; a pre-release counts as its release.
    """
    result = str(version_info.get("gitVersion", ""))
    numbers = _numbers(result)
    if numbers is None or numbers >= (_numbers(needed.version) or numbers):
        return ""
    return (
        f"it is Kubernetes {result}, which is too old: {needed.version} or newer is "
        f"needed{needed.reason}; upgrade it"
    )


def _numbers(text: str) -> tuple[int, int, int] | None:
    result = _NUMBERS.match(text)
    if result is None:
        return None
    major, minor, patch = result.groups("0")
    return parse_integer(major), parse_integer(minor), parse_integer(patch)
