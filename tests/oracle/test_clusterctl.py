"""Commands answer as upstream's clusterctl did."""

from __future__ import annotations

import pytest

from tests.oracle.clusterctl import replay
from tests.oracle.recorded import PROVIDERS, RECORDED, SAMPLES


@pytest.mark.parametrize("topic", ["config", "convert", "generate-yaml"])
def test_the_samples_pass(topic: str) -> None:
    (results,) = replay(SAMPLES / "clusterctl", [topic]).values()
    assert len(results) >= 10
    assert [one for one in results if not one.passed] == []


@pytest.mark.sockets
@pytest.mark.skipif(not PROVIDERS.is_dir(), reason="the providers are not there")
def test_a_management_cluster_becomes_what_upstream_made_of_it() -> None:
    (results,) = replay(RECORDED / "clusterctl", ["management"]).values()
    assert len(results) >= 30
    assert [one for one in results if not one.passed] == []
