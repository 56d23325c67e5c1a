"""The rules of the contract documents of v1.14: one table, for checks and for documentation."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import Level
from kapy.testing.conformance.rules import (
    bootstrap_config,
    clusterctl,
    control_plane,
    infrastructure,
    ipam,
)
from kapy.testing.conformance.rules.rule import CheckMethod, Document, ResponsibleParty, Rule

__all__ = [
    "DOCUMENTS",
    "PROMISES",
    "RULES",
    "CheckMethod",
    "Document",
    "Level",
    "ResponsibleParty",
    "Rule",
]

DOCUMENTS: Final = (
    infrastructure.CLUSTER,
    infrastructure.MACHINE,
    infrastructure.POOL,
    bootstrap_config.DOCUMENT,
    control_plane.DOCUMENT,
    clusterctl.DOCUMENT,
    ipam.DOCUMENT,
)
RULES: Final = {rule.id: rule for document in DOCUMENTS for rule in document.rules}
"""The rules for providers, by id."""
PROMISES: Final = {rule.id: rule for document in DOCUMENTS for rule in document.promises}
"""The guarantees to providers, by id."""
