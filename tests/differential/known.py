"""Kept cases that ours is known to answer differently, each with the reason.

A ratchet, as `tests.oracle.known`: what is here and passes fails the tests, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

KNOWN: Final[Mapping[str, str]] = {}
