"""Everything that was recorded from upstream and from a real kube-apiserver, replayed."""

from __future__ import annotations

import pytest

from tests.oracle import apiserver, clusterctl
from tests.oracle.known import APISERVER, VARIABLES
from tests.oracle.recorded import HELD, RECORDED, SUBTOPICS, absent
from tests.oracle.registry import PURE, play

pytestmark = pytest.mark.recorded

GENERATED = ("cluster", "provider", "yaml")


def test_the_recorded_cases_are_there() -> None:
    assert not absent(), f"missing below {RECORDED}"


@pytest.mark.parametrize("topic", PURE)
def test_every_case_of_a_pure_topic_passes(topic: str) -> None:
    (results,) = dict(play(topic, RECORDED / topic)).values()
    assert [item for item in results if not item.passed] == []


@pytest.mark.parametrize("topic", HELD)
def test_every_case_of_our_kinds_passes(topic: str) -> None:
    (results,) = dict(play(topic, RECORDED / topic)).values()
    allowed = VARIABLES if topic == "variables" else {}
    failed = {item.case: item for item in results if not item.passed}
    assert [value for case, value in failed.items() if case not in allowed] == []
    assert [case for case in allowed if case not in failed] == [], "these pass now: unlist them"


@pytest.mark.parametrize("topic", ["convert", *(f"generate-{text}" for text in GENERATED)])
def test_generated_yaml_is_upstreams_to_the_byte(topic: str) -> None:
    (results,) = clusterctl.replay(RECORDED / "clusterctl", [topic]).values()
    assert [item for item in results if not item.passed] == []


def test_providers_and_settings_are_listed_as_upstream_lists_them() -> None:
    (results,) = clusterctl.replay(RECORDED / "clusterctl", ["config"]).values()
    assert [item for item in results if not item.passed] == []


@pytest.mark.sockets
def test_requests_are_answered_as_by_kube_apiserver() -> None:
    results = apiserver.replay(RECORDED / "apiserver", SUBTOPICS)
    assert sorted(results) == sorted(SUBTOPICS)
    failed = {item.case: item for some in results.values() for item in some if not item.passed}
    assert [value for case, value in failed.items() if case not in APISERVER] == []
    assert [case for case in APISERVER if case not in failed] == [], "these pass now: unlist them"
    for topic, some in results.items():
        passed = sum(item.passed for item in some)
        assert passed >= 0.8 * len(some), topic
