"""Commands answer as upstream's clusterctl did."""

from __future__ import annotations

import pytest

from tests.oracle.clusterctl import replay
from tests.oracle.live import replay as replay_live
from tests.oracle.recorded import RECORDED, SAMPLES
from tests.oracle.topic import records

LIVE = RECORDED / "clusterctl" / "live.jsonl.gz"


@pytest.mark.parametrize("topic", ["config", "convert", "errors", "generate-yaml"])
def test_the_samples_pass(topic: str) -> None:
    (results,) = replay(SAMPLES / "clusterctl", [topic]).values()
    assert len(results) >= 10
    assert [item for item in results if not item.passed] == []


@pytest.mark.sockets
@pytest.mark.recorded
def test_a_command_leaves_the_same_management_cluster_as_upstream() -> None:
    (results,) = replay(RECORDED / "clusterctl", ["management"]).values()
    assert len(results) >= 30
    assert [item for item in results if not item.passed] == []


@pytest.mark.sockets
@pytest.mark.recorded
def test_kubeconfigs_are_got_and_rollouts_steered_as_upstream_does() -> None:
    """Descriptions of clusters are tested in tests/clusterctl/test_describe.py, moves beside it."""
    some = [
        record
        for record in records(LIVE)
        if record.get("args", ["points"])[0] in ("get", "alpha", "points")
    ]
    results = replay_live(some)
    assert len(results) == 20
    assert [item for item in results if not item.passed] == []
