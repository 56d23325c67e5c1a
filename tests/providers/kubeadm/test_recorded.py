"""Boot data is equal to upstream's, to the byte."""

from __future__ import annotations

import pytest

from tests.oracle.recorded import RECORDED, SAMPLES, must_be_there
from tests.oracle.topic import replayed
from tests.providers.kubeadm.recorded import FILES


def test_the_samples_pass() -> None:
    results = list(replayed(FILES, SAMPLES / "cloudinit"))
    assert len(results) >= 50
    assert [one for one in results if not one.passed] == []


@pytest.mark.skipif(
    not (RECORDED / "cloudinit").is_dir() and not must_be_there(),
    reason="the recorded cases of cloudinit are not on this machine",
)
def test_every_recorded_case_passes() -> None:
    results = list(replayed(FILES, RECORDED / "cloudinit"))
    assert len(results) == 818
    assert [one for one in results if not one.passed] == []
