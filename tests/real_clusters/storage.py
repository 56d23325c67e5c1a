"""Volumes of a storage driver whose attacher is this test.

kube-controller-manager attaches and detaches by VolumeAttachments, as for any CSI driver; what the
driver's external-attacher would do is done here. There is no driver on the nodes, so that a Pod
with such a volume is attached to its node, and waits there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from kapy.client.client import Client
from kapy.core.machine.volumes import PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES, PODS, Resource
from tests.real_clusters.images import PAUSE_IMAGE
from tests.real_clusters.life import STEP, Life, beside

DRIVER: Final = "volumes.kapy.test"
CLAIM: Final = Key("default", "data")
POD: Final = Key("default", "stateful")
_FINALIZER: Final = "external-attacher/volumes-kapy-test"
_CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
_DRIVERS: Final = Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", namespaced=False)


class Attacher:
    """Attaches at once, and detaches when it may."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.detaches = False

    async def run(self) -> None:
        """Look after VolumeAttachments until cancelled."""
        while True:
            with suppress(KapyError):  # a conflict, or an API server that is away
                for document in (await self._client.list(VOLUME_ATTACHMENTS)).items:
                    await self._look(document)
            await asyncio.sleep(STEP)

    async def _look(self, document: Document) -> None:
        if document["spec"]["attacher"] != DRIVER:
            return
        attached = (document.get("status") or {}).get("attached")
        if "deletionTimestamp" not in document["metadata"]:
            if not attached:
                await self._set(document, [_FINALIZER], attached=True)
        elif self.detaches:
            await self._set(document, [], attached=False)

    async def _set(self, document: Document, finalizers: list[str], *, attached: bool) -> None:
        key = Key.of(document)
        status: Document = {"status": {"attached": attached}}
        await self._client.patch(VOLUME_ATTACHMENTS, key, status, subresource="status")
        await self._client.patch(VOLUME_ATTACHMENTS, key, {"metadata": {"finalizers": finalizers}})


@asynccontextmanager
async def attaching(life: Life) -> AsyncIterator[Attacher]:
    """While there is an attacher."""
    attacher = Attacher(await life.workload())
    async with beside(attacher.run()):
        yield attacher


async def attach(life: Life, node: str) -> None:
    """Have a volume attached to a node for a Pod there."""
    client = await life.workload()
    storage: Document = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
    }
    await client.create(
        _DRIVERS,
        {
            "apiVersion": _DRIVERS.api_version,
            "kind": _DRIVERS.kind,
            "metadata": {"name": DRIVER},
            "spec": {"attachRequired": True},
        },
    )
    await client.create(
        PERSISTENT_VOLUMES,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "disk"},
            "spec": {
                **storage,
                "capacity": {"storage": "1Gi"},
                "csi": {"driver": DRIVER, "volumeHandle": "disk-1"},
                "claimRef": {"namespace": CLAIM.namespace, "name": CLAIM.name},
            },
        },
    )
    await client.create(
        _CLAIMS,
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": CLAIM.name, "namespace": CLAIM.namespace},
            "spec": {
                **storage,
                "volumeName": "disk",
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    )
    await client.create(
        PODS,
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": POD.name, "namespace": POD.namespace},
            "spec": {
                "nodeSelector": {"kubernetes.io/hostname": node},
                "containers": [
                    {
                        "name": "pause",
                        "image": PAUSE_IMAGE,
                        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    }
                ],
                "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": CLAIM.name}}],
            },
        },
    )
    await life.in_cluster(NODES, Key("", node), lambda document: _attached(document))


def _attached(node: Document) -> bool:
    volumes = (node.get("status") or {}).get("volumesAttached") or ()
    return any(volume["name"] == f"kubernetes.io/csi/{DRIVER}^disk-1" for volume in volumes)
