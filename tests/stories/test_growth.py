"""A change costs the same in a large fleet as in a small one.

The test counts how often each line of kapy runs while clusters are created, changed and deleted
beside few and beside many others. A line that runs once more for each of the others makes the cost
of a whole fleet quadratic: a loop over all objects of a kind in a mapper of watch events, mostly.
Virtual time makes the counts independent of the machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import kapy
from kapy.api.cluster import Cluster
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.apps.cluster_progress import is_complete
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.testing.story import Story
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.stories.plane import running_plane, sample

FEW, MANY = 4, 84
TOLERATED: Final = 1.5
"""Growth by this factor is no loop over all clusters: a reconcile happens once more or less when
requests end in another order."""
QUIET: Final = 20.0
SOURCE: Final = str(Path(kapy.__file__).parent)
LABELS: Final = {"addon": "of-all"}
ADDON: Final[Document] = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "addon", "namespace": "default"},
    "data": {"addon": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}"},
}
SET: Final[Document] = {
    "apiVersion": "addons.cluster.x-k8s.io/v1beta2",
    "kind": "ClusterResourceSet",
    "metadata": {"name": "of-all", "namespace": "default"},
    "spec": {
        "clusterSelector": {"matchLabels": LABELS},
        "resources": [{"kind": "ConfigMap", "name": "addon"}],
    },
}
Line = tuple[str, int]


@contextmanager
def counted_lines(counts: Counter[Line]) -> Iterator[None]:
    """Count the runs of each line of kapy in the block."""

    def of_call(frame: FrameType, _: str, __: Any) -> Any:
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        name = frame.f_code.co_filename

        def of_line(frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                counts[name, frame.f_lineno] += 1
            return of_line

        return of_line

    sys.settrace(of_call)
    try:
        yield
    finally:
        sys.settrace(None)


def objects_of(name: str) -> list[Document]:
    """Return the sample cluster under another name, with keys that cost little."""
    objects: list[Document] = json.loads(json.dumps(sample()).replace("capybara", name))
    for document in objects:
        if document["kind"] == Cluster.RESOURCE.kind:
            document["metadata"].setdefault("labels", {}).update(LABELS)
        if document["kind"] == KubeadmControlPlane.RESOURCE.kind:
            configuration = document["spec"]["kubeadmConfigSpec"]
            configuration.setdefault("clusterConfiguration", {})
            configuration["clusterConfiguration"]["encryptionAlgorithm"] = "ECDSA-P256"
    return objects


def clear_caches() -> None:
    """Empty the caches of simulated Nodes, so that each count begins with the same."""
    for name, module in list(sys.modules.items()):
        if name.startswith("kapy.providers.inmemory."):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


async def create(story: Story, name: str) -> None:
    await story.create(objects_of(name))
    await story.until(Cluster, name, lambda cluster: is_complete(encode(cluster)))


async def lines_of_a_life(others: int) -> Counter[Line]:
    """Return how often each line runs in the life of one cluster beside others."""
    counts: Counter[Line] = Counter()
    clear_caches()
    async with running_plane() as story:
        await story.create([ADDON, SET])
        for number in range(others):
            await create(story, f"other-{number:02}")
        await asyncio.sleep(QUIET)
        with counted_lines(counts):
            await create(story, "mine")
            await asyncio.sleep(QUIET)
            replicas = {"spec": {"replicas": 3}}
            await story.merge(KubeadmControlPlane, "mine-control-plane", replicas)
            await asyncio.sleep(QUIET)
            await story.client.delete(Cluster, Key("default", "mine"))
            await story.until_gone(Cluster, "mine")
            await asyncio.sleep(QUIET)
    return counts


def test_no_line_runs_more_often_the_more_clusters_there_are() -> None:
    counts = []
    for others in (FEW, MANY):
        with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
            counts.append(runner.run(lines_of_a_life(others)))
    few, many = counts

    grown = {
        f"{Path(file).relative_to(SOURCE)}:{line}": f"{few[file, line]} to {number}"
        for (file, line), number in sorted(many.items())
        if number - few[file, line] >= MANY - FEW and number > TOLERATED * few[file, line]
    }
    assert grown == {}
