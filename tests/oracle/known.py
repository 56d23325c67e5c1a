"""Recorded cases that ours is known to answer differently, each with the reason.

A ratchet: a case that fails and is not here fails the tests, and so does one that is here and
passes. `docs/reference/api-server.md` explains the reasons to users.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

APISERVER: Final[Mapping[str, str]] = {}
