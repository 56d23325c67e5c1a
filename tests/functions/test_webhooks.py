"""The cases of the comparison of webhooks."""

from __future__ import annotations

import pytest

from tests.functions.webhooks import KINDS, changed_requests, recorded_requests


@pytest.mark.recorded
@pytest.mark.parametrize("kind", KINDS)
def test_requests_of_each_kind_are_recorded(kind: str) -> None:
    assert {request["operation"] for request in recorded_requests(kind)} <= {"CREATE", "UPDATE"}
    assert recorded_requests(kind)


def test_a_changed_request_has_the_kind_and_the_name_of_its_object() -> None:
    requests = changed_requests("Cluster", 200, 5)
    assert len(requests) > 100
    assert requests == changed_requests("Cluster", 200, 5)
    for request in requests:
        assert request["new"]["kind"] == "Cluster"
        assert (
            not request["old"]
            or request["new"]["metadata"]["name"] == (request["old"]["metadata"]["name"])
        )
    assert not all(request in recorded_requests("Cluster") for request in requests)
