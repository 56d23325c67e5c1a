"""Commands answer as upstream's clusterctl did."""

from __future__ import annotations

import pytest

from tests.oracle.clusterctl import replay
from tests.oracle.recorded import SAMPLES


@pytest.mark.parametrize("topic", ["config"])
def test_the_samples_pass(topic: str) -> None:
    (results,) = replay(SAMPLES / "clusterctl", [topic]).values()
    assert len(results) >= 10
    assert [one for one in results if not one.passed] == []
