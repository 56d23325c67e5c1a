"""A chapter of a cluster's life: a node is drained, which has to wait for a budget and a volume."""

from __future__ import annotations

from kapy.api.machine import Machine
from kapy.api.names import Annotation, ConditionType, Reason
from kapy.conditions import get
from kapy.core.machine.volumes import VOLUME_ATTACHMENTS
from kapy.kube import Document
from kapy.kube.names import PODS
from tests.real_clusters import storage
from tests.real_clusters.life import ROLE, Life
from tests.real_clusters.workload import WEB, deploy, scale


async def drain(life: Life) -> None:
    """Of three workers the one with the only Pod of a Deployment, and with a volume, has to go."""
    await deploy(life, 1)
    pod = await _web_pod(life)
    node = pod["spec"]["nodeName"]
    machine = next(item for item in await life.machines(ROLE) if life.node_of(item) == node)
    name = machine.metadata.name
    async with storage.attaching(life) as attacher:
        await storage.attach(life, node)
        life.done("a volume is attached")
        chosen = {"metadata": {"annotations": {Annotation.DELETE_MACHINE: "yes"}}}
        await life.story.merge(Machine, name, chosen)
        await life.resize_workers(2)

        await _waits(life, name, Reason.DRAINING_NODE, "cannot evict pod as it would violate")
        same_pod = await _web_pod(life)
        assert same_pod["metadata"]["uid"] == pod["metadata"]["uid"]
        assert "deletionTimestamp" not in same_pod["metadata"]
        life.done("the budget refuses to lose the only Pod")

        await scale(life, 2)
        await _waits(life, name, Reason.WAITING_FOR_VOLUME_DETACH, str(storage.CLAIM))
        container = await life.engine.container(node)
        assert container is not None
        assert container.is_running
        assert (await _web_pod(life))["spec"]["nodeName"] != node
        life.done("with a second Pod the node is drained; the volume is waited for")

        attacher.detaches = True
        await life.story.until_gone(Machine, name, within=600)
    await life.workers_are(2)
    assert node not in {document["metadata"]["name"] for document in await life.nodes()}
    assert await life.engine.container(node) is None
    assert not (await (await life.workload()).list(VOLUME_ATTACHMENTS)).items
    life.done("once it is detached, the machine goes")


async def _waits(life: Life, name: str, reason: str, words: str) -> None:
    """Wait until a Machine that is deleted says what it waits for."""

    def holds(machine: Machine) -> bool:
        deleting = get(machine.status.conditions, ConditionType.DELETING)
        return deleting is not None and deleting.reason == reason and words in deleting.message

    await life.until(Machine, name, holds)


async def _web_pod(life: Life) -> Document:
    """The first Pod of the Deployment that nobody ends."""
    client = await life.workload()
    pods = (await client.list(PODS, WEB.namespace, labels="app=web")).items
    return next(pod for pod in pods if "deletionTimestamp" not in pod["metadata"])
