"""Tests that MachineDeployments roll out as forecast, for each field that matters."""

from __future__ import annotations

import pytest

from kapy.api.machine import Machine
from kapy.api.machine_deployment import MachineDeployment
from kapy.api.machine_set import MachineSet
from kapy.core.machinedeployment.forecast import Forecast, forecast
from kapy.kube import Document
from kapy.kube.meta import read, to_document
from kapy.kube.patch import merge_patch
from tests.core.environment import (
    CONFIG_TEMPLATES,
    INFRA_TEMPLATES,
    Environment,
    reference,
    templates,
)
from tests.core.machinedeployment.test_stories import complete, started

TEMPLATES = {
    "version": {"version": "v1.33.7"},
    "failureDomain": {"failureDomain": "east"},
    "infrastructureRef": {"infrastructureRef": reference(INFRA_TEMPLATES, "other")},
    "bootstrap": {"bootstrap": {"configRef": reference(CONFIG_TEMPLATES, "other")}},
    "in place": {"deletion": {"nodeDrainTimeoutSeconds": 7}},
}
ROLLING = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
CHANGES: dict[str, Document] = {
    **{name: {"template": {"spec": template}} for name, template in TEMPLATES.items()},
    "labels": {"template": {"metadata": {"labels": {"a": "b"}}}},
    "rollout.after": {"rollout": {"after": "2026-01-01T00:00:30Z"}},
    "rollout.after in the future": {"rollout": {"after": "2036-01-01T00:00:00Z"}},
    "without surge": {"template": {"spec": TEMPLATES["version"]}, "rollout": {"strategy": ROLLING}},
    "grown": {"replicas": 4, "template": {"spec": TEMPLATES["version"]}},
    "shrunk": {"replicas": 1, "template": {"spec": TEMPLATES["version"]}},
    "OnDelete": {
        "template": {"spec": TEMPLATES["version"]},
        "rollout": {"strategy": {"type": "OnDelete", "rollingUpdate": None}},
    },
}


async def foretold(plane: Environment, patch: Document) -> Forecast:
    """Return the forecast of the MachineDeployment with a patch of its spec."""
    current = await plane.story.get(MachineDeployment, "md")
    assert current is not None
    wanted = read(merge_patch.apply(to_document(current), {"spec": patch}), MachineDeployment)
    sets, machines = await plane.story.all(MachineSet), await plane.story.all(Machine)
    return forecast(wanted, sets, machines, plane.clock())


@pytest.mark.parametrize("patch", CHANGES.values(), ids=CHANGES)
async def test_a_rollout_follows_its_forecast(plane: Environment, patch: Document) -> None:
    before = await started(plane, 3)
    await plane.create(*templates("other"))
    await plane.settle(90)
    result = await foretold(plane, patch)
    await plane.story.merge(MachineDeployment, "md", {"spec": patch})
    await complete(plane, 15)

    sets = {
        machine_set.metadata.name: machine_set.spec.replicas
        for machine_set in await plane.story.all(MachineSet)
    }
    assert {name: size for name, size in sets.items() if size} == {
        machine_set.metadata.name: machine_set.spec.replicas
        for machine_set in result.sets
        if machine_set.spec.replicas
    }
    assert [name for name in sets if name != before.metadata.name] == (
        [result.creates] if result.creates else []
    )
    assert (await foretold(plane, {})).steps == []
