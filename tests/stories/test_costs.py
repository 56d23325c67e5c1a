"""No change makes a small story cost more requests, reconciles or bytes unnoticed."""

from __future__ import annotations

import json

from kapy.kube.http import Request
from tests.stories import costs


async def test_a_small_story_has_the_recorded_costs() -> None:
    recorded: costs.Costs = json.loads(costs.FIGURES.read_text())
    now = await costs.measure()
    differences = [
        f"{step}, {item}, {name}: {before.get(name, 0)} recorded, {after.get(name, 0)} now"
        for step, items in now.items()
        for item, after in items.items()
        for before in (recorded.get(step, {}).get(item, {}),)
        for name in sorted({*before, *after})
        if abs(before.get(name, 0) - after.get(name, 0)) > _tolerance(item, before.get(name, 0))
    ]
    hint = "if that is meant: python -m tests.stories.costs, and say why in the commit"
    assert not differences, "\n".join([*differences, hint])
    assert recorded.keys() == now.keys()


def _tolerance(item: str, before: int) -> float:
    """Return the accepted difference. Names and versions in bodies vary in length by some bytes."""
    return max(64, before / 100) if item == "bytes" else 0


def test_requests_are_named_by_verb_and_resource() -> None:
    machines = "/apis/cluster.x-k8s.io/v1beta2/namespaces/default/machines"
    requests = {
        "GET namespaces": Request("GET", "/api/v1/namespaces/default"),
        "POST secrets": Request("POST", "/api/v1/namespaces/default/secrets"),
        "PATCH machines": Request("PATCH", f"{machines}/m"),
        "PATCH machines/status": Request("PATCH", f"{machines}/m/status"),
        "WATCH machines": Request("GET", machines, {"watch": "true"}),
    }
    assert {costs.resource_of(request) for request in requests.values()} == set(requests)
