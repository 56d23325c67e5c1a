"""Clusters of a ClusterClass: what they cost, at rest too, and when the class changes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.fleet import Fleet, Shape, fleet, names
from benchmarks.measure import percentile
from kapy.api.cluster_class import ClusterClass
from kapy.api.machine import Machine
from kapy.apps.manifests import class_sample
from kapy.kube import Document, Key

Row = dict[str, Any]
CLASS: Final = Key("default", "meadow")
LOOKS: Final = 200
SETTLING: Final = 10.0  # seconds, because no event tells that all work is done
NEXT: Final = "meadow-grazer-next"


@dataclass(frozen=True, slots=True)
class OfClass(Shape):
    """A cluster of the sample's class."""

    def objects(self, name: str) -> list[Document]:
        """The Cluster alone."""
        (document,) = (item for item in class_sample() if item["kind"] == "Cluster")
        document["metadata"]["name"] = name
        topology = document["spec"]["topology"]
        topology["controlPlane"]["replicas"] = self.control_planes
        topology["workers"]["machineDeployments"][0]["replicas"] = self.workers
        return [document]

    def class_objects(self) -> list[Document]:
        """The class, and its templates."""
        objects = [document for document in class_sample() if document["kind"] != "Cluster"]
        for obj in objects:
            if obj["kind"] == "KubeadmControlPlaneTemplate":
                config = obj["spec"]["template"]["spec"]["kubeadmConfigSpec"]
                config["clusterConfiguration"]["encryptionAlgorithm"] = self.keys
        return objects


async def create_and_look(number: int, shape: OfClass) -> list[Row]:
    """`number` clusters posted at once, until all are Available; and a look at a settled one."""
    async with fleet() as herd:
        await _class(herd, shape)
        with herd.costs.of() as cost:
            took = await herd.create(shape, names(number))
        created = {
            "step": "create",
            **cost.as_row(),
            "clusters": number,
            "p50_s": round(percentile(took, 0.5), 4),
            "cpu_s_per_cluster": round(cost.cpu / number, 4),
            "requests_per_cluster": round(cost.requests.total() / number, 1),
        }
        await asyncio.sleep(SETTLING)
        return [created, await _looks(herd)]


async def roll(number: int, shape: OfClass) -> list[Row]:
    """The workers of `number` clusters replaced, because their class has another template."""
    async with fleet() as herd:
        await _class(herd, shape)
        await herd.create(shape, names(number))
        await asyncio.sleep(SETTLING)
        (template,) = (
            obj
            for obj in shape.class_objects()
            if obj["kind"] == "DevMachineTemplate" and obj["metadata"]["name"] == "meadow-grazer"
        )
        template["metadata"]["name"] = NEXT
        backend = template["spec"]["template"]["spec"]["backend"]["inMemory"]
        backend["vm"]["provisioning"]["startupDuration"] = "0.001s"
        await herd.post_one(template)
        machines = await herd.client.list(Machine, labels="!cluster.x-k8s.io/control-plane")
        names_left = {machine.metadata.name for machine in machines.items}
        path = "/spec/workers/machineDeployments/0/infrastructure/templateRef/name"
        change = [{"op": "replace", "path": path, "value": NEXT}]
        with herd.costs.of() as cost:
            await herd.client.patch(ClusterClass.RESOURCE, CLASS, change)
            await herd.follow(
                Machine.RESOURCE,
                machines.resource_version,
                lambda _: not names_left,
                deleted=names_left.discard,
            )
        per = {"cpu_s_per_cluster": round(cost.cpu / number, 4)}
        return [{"step": "class change", **cost.as_row(), "clusters": number, **per}]


async def _class(herd: Fleet, shape: OfClass) -> None:
    for obj in shape.class_objects():
        await herd.post_one(obj)


async def _looks(herd: Fleet) -> Row:
    (controller,) = (
        item for item in herd.plane.runtime.controllers if item.name == "topology/cluster"
    )
    key = Key("default", names(1)[0])
    took = []
    with herd.costs.of() as cost:
        for _ in range(LOOKS):
            began = time.process_time()
            await controller.reconcile_once(key)
            took.append(time.process_time() - began)
    ms = {"ms": round(1e3 * percentile(took, 0.5), 3)}
    return {"step": "look at a settled topology", **cost.as_row(), **ms}
