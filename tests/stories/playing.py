"""Plays a recorded story that needs no extension, and compares what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapy.kube import Document
from kapy.kube.names import CONFIG_MAPS, NAMESPACES, SECRETS
from kapy.testing.story import Story
from tests.oracle.topic import compared
from tests.stories.plane import own_kinds, running
from tests.stories.recorded import Player, Recorded, unexplained

OTHERWISE: Final = {
    r"controlPlaneEndpoint|apiServerEndpoint": "an own loopback address for each cluster,"
    " where upstream has a port for each",
    r"\.status\.selector: .*machine-template-hash": "the hash of a template is not upstream's",
    r"^users-added: MachineHealthCheck/.*\.(targets|expectedMachines)": "upstream's health check"
    " has not seen yet that a control plane Machine is gone",
}
"""Allowed differences, and the reason for each."""


async def endings_of(recorded: Recorded) -> dict[str, list[str]]:
    """Return the differences from the recording, by stage and for the workload cluster."""
    kinds = own_kinds()
    async with running() as plane:
        story = Story(plane.client, [*kinds, NAMESPACES, SECRETS, CONFIG_MAPS])
        await story.create([namespace_of(recorded)])
        clock, connections = plane.runtime.clock, plane.cluster_cache
        player = Player(story, kinds, recorded.name, clock, connections, recorded.stages)
        await player.play(recorded.steps)
    endings = unexplained(recorded, player.stages, OTHERWISE)
    wanted = {
        path: recorded.workload[path]["body"]["items"]
        for path in player.workload
        if path in recorded.workload
    }
    endings["workload-cluster"] = list(compared(put_there(wanted), put_there(player.workload)))
    return endings


def namespace_of(recorded: Recorded) -> Document:
    """The namespace in which a story was recorded has its name."""
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": recorded.name}}


def put_there(answers: Mapping[str, Sequence[Document]]) -> dict[str, object]:
    """Return the objects that a ClusterResourceSet applied to a workload cluster, if there are any:
    the data of ConfigMaps, and the keys of a Secret."""
    return {
        f"{path} {document['metadata']['namespace']}/{name}": (
            sorted({**document.get("data", {}), **document.get("stringData", {})})
            if path.endswith("secrets")
            else document.get("data")
        )
        for path, items in answers.items()
        for document in items
        if (name := document["metadata"]["name"]).startswith("from-crs")
    }
