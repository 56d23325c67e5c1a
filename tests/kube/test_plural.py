"""Plurals: of kinds as messages name them (the names of CRDs are recorded cases)."""

from __future__ import annotations

import pytest

from kapy.kube.plural import plural


@pytest.mark.parametrize(
    ("singular", "many"),
    [
        ("Machine", "Machines"),
        ("MachineDeployment", "MachineDeployments"),
        ("ClusterClass", "ClusterClasses"),
        ("NetworkPolicy", "NetworkPolicies"),
        ("FooIndex", "FooIndices"),
        ("VPC", "VPCs"),
        ("Series", "Series"),
        ("Wolf", "Wolves"),
        ("box", "boxes"),
        ("ox", "oxen"),
        ("dns", "dnsDNSes"),
        ("", ""),
    ],
)
def test_kinds_have_plurals(singular: str, many: str) -> None:
    assert plural(singular) == many
