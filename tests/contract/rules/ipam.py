"""Rules for IPAM (`../shared/upstream/docs/contracts/ipam.md`)."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules import ipam
from tests.contract.rules.row import Kept, Row

ROWS: Final[list[Row]] = []

KEPT: Final = Kept(
    ipam.DOCUMENT,
    None,
    "upstream/docs/contracts/ipam.md",
    r"\bMUST\b",
    ROWS,
)
