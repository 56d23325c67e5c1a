"""Stories that were recorded from upstream's managers end here as they ended there.

Every object at every stable point: the same kinds and numbers of objects, owners, labels,
annotations, finalizers, specs, conditions with reasons and messages, counters, Secret keys.
"""

from __future__ import annotations

import re

import pytest

from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.stories.plane import own_kinds, running
from tests.stories.recorded import Player, Recorded, differences

STORIES = (
    "a-plain",
    "c-md-scale",
    "d-md-rollout",
    "e-kcp-scale",
    "e-kcp-scale-3-5-3",
    "g-pause",
    "h-mhc",
    "j-delete-hooks",
)

OTHERWISE = {
    r"controlPlaneEndpoint|apiServerEndpoint": "an own loopback address for each cluster,"
    " where upstream has a port for each",
    r"\.status\.selector: .*machine-template-hash": "the hash of a template is not upstream's",
}
"""What may differ, and why."""


@pytest.mark.parametrize("name", STORIES)
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
        f"{stage}: {line}"
        for stage, objects in recorded.stages.items()
        for line in differences(objects, player.stages[stage])
        if not any(re.search(allowed, line) for allowed in OTHERWISE)
    ]
    assert found == []
