"""Stories that were recorded from upstream's managers end here as they ended there.

Every object at every stable point: the same kinds and numbers of objects, owners, labels,
annotations, finalizers, specs, conditions with reasons and messages, counters, Secret keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.oracle.sampling import STORIES as SAMPLED
from tests.stories.plane import own_kinds, running
from tests.stories.recorded import Player, Recorded, differences

STORIES = (
    "a-plain",
    "b-topology",
    "c-md-scale",
    "d-md-rollout",
    "e-kcp-scale",
    "e-kcp-scale-3-5-3",
    "f-upgrade",
    "g-pause",
    "h-mhc",
    "i-crs",
    "j-delete-hooks",
    "k-variable-change",
)

OTHERWISE = {
    r"controlPlaneEndpoint|apiServerEndpoint": "an own loopback address for each cluster,"
    " where upstream has a port for each",
    r"\.status\.selector: .*machine-template-hash": "the hash of a template is not upstream's",
    r"^users-added: MachineHealthCheck/.*\.(targets|expectedMachines)": "upstream's health check"
    " has not seen yet that a control plane Machine is gone",
}
"""What may differ, and why."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in SAMPLED else pytest.mark.recorded) for one in STORIES],
)
async def test_a_story_ends_as_it_was_recorded(name: str) -> None:
    recorded = Recorded.read(name)
    kinds = own_kinds()
    async with running() as plane:
        story = Story(plane.client, [*kinds, NAMESPACES, SECRETS, CONFIG_MAPS])
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        await story.create([namespace])
        clock, connections = plane.runtime.clock, plane.connections
        player = Player(story, kinds, name, clock, connections, recorded.stages)
        await player.play(recorded.steps)
    found = [
        told
        for stage, objects in recorded.stages.items()
        for line in differences(objects, player.stages[stage])
        if not any(re.search(allowed, told := f"{stage}: {line}") for allowed in OTHERWISE)
    ]
    assert found == []
    assert put_there(player.workload) == put_there(
        {
            path: recorded.workload[path]["body"]["items"]
            for path in player.workload
            if path in recorded.workload
        }
    )


def put_there(answers: Mapping[str, Sequence[Document]]) -> dict[str, object]:
    """What a ClusterResourceSet put into a workload cluster, where there was one: values of
    ConfigMaps, and the names of a Secret's."""
    return {
        f"{path} {one['metadata']['namespace']}/{name}": (
            sorted({**one.get("data", {}), **one.get("stringData", {})})
            if path.endswith("secrets")
            else one.get("data")
        )
        for path, items in answers.items()
        for one in items
        if (name := one["metadata"]["name"]).startswith("from-crs")
    }
