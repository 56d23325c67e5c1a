"""Boot data is equal to upstream's, to the byte."""

from __future__ import annotations

import pytest

from tests.oracle.recorded import RECORDED, SAMPLES
from tests.oracle.topic import replayed
from tests.providers.kubeadm.recorded import FILES


def test_the_samples_pass() -> None:
    results = list(replayed(FILES, SAMPLES / "cloudinit"))
    assert len(results) >= 50
    assert [item for item in results if not item.passed] == []


@pytest.mark.recorded
def test_every_recorded_case_passes() -> None:
    results = list(replayed(FILES, RECORDED / "cloudinit"))
    assert len(results) == 818
    assert [item for item in results if not item.passed] == []
