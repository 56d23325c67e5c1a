"""Upstream's recorded defaulting and validation, all of it where it is there, else the samples."""

from __future__ import annotations

import pytest

from tests.api.recorded import FILES
from tests.oracle.recorded import data
from tests.oracle.topic import replayed

TOPIC = "admission-unit"
FOLDER = data(f"oracle/{TOPIC}")
KINDS = [kind for kind in FILES if list(FOLDER.glob(f"{kind}.jsonl*"))]


def test_there_are_recorded_cases() -> None:
    assert "MachineDeployment" in KINDS
    assert "KubeadmControlPlane" in KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_defaults_and_causes_are_the_recorded_ones(kind: str) -> None:
    ours = {name: check for name, check in FILES.items() if name == kind}
    results = [item for item in replayed(ours, FOLDER) if item.case.startswith(f"{kind}[")]
    assert len(results) >= 2
    assert [item for item in results if not item.passed] == []
