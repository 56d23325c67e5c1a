"""A bootstrap provider that was written by hand."""

from __future__ import annotations

from base64 import b64encode
from typing import ClassVar, Final

from kapy.engine.result import DONE, Result
from kapy.kube import Document, Key
from kapy.kube.names import CONFIG_MAPS, SECRETS, Resource
from tests.testing.conformance.by_hand.provider import ByHand, finalizers, owned_by

CONFIGS: Final = Resource("bootstrap.hand.example.com", "v1", "handconfigs", "HandConfig")
EXAMPLE: Final[Document] = {"kind": "HandConfig", "metadata": {}, "spec": {}}


class HandBootstrap(ByHand):
    """Makes a Secret that is called as its object is."""

    KIND: ClassVar = CONFIGS

    async def advance(self, document: Document, cluster: Document | None) -> Result:
        if self.is_wrong("deletion") and not finalizers(document):
            await self.hold(document)
        if self.is_wrong("owner") and not self.is_owned(document):
            await self.report(document, {"dataSecretName": "any"})
        if cluster is None:
            return DONE
        name = document["metadata"]["name"]
        if self.is_wrong("data-secret-content: name"):
            name += f"-{document['metadata']['uid'][:5]}"
        if self.is_wrong("initialized: early"):
            await self._told(document, name)
        await self._keep_secret(document, name)
        if self.is_wrong("initialized: back") and document["metadata"]["labels"].get("conformance"):
            await self.report(document, {"initialization": {"dataSecretCreated": False}})
        else:
            await self._told(document, name)
        return DONE

    async def _keep_secret(self, document: Document, name: str) -> None:
        secret = await self.get(SECRETS, Key(document["metadata"]["namespace"], name))
        if secret is None and self.is_wrong("once"):
            await self._with_a_lock(document, self._secret(document, name))
        elif secret is None:
            await self.client.create(SECRETS, self._secret(document, name))
        elif self.is_wrong("data-secret-once") and not (document.get("status") or {}).get(
            "dataSecretName"
        ):
            await self.client.patch(SECRETS, Key.of(secret), {"data": {"value": _coded("again")}})
        elif owned_by(document) not in (secret["metadata"].get("ownerReferences") or ()):
            await self._see_to_owner(document, secret)

    async def _with_a_lock(self, item: Document, secret: Document) -> None:
        """A lock of a random name is found by nobody who comes after a crash."""
        space = item["metadata"]["namespace"]
        lock = Key(space, f"lock-{self.runtime.random.random()}")
        metadata = {"name": lock.name, "namespace": space, "ownerReferences": [owned_by(item)]}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        await self.client.create(CONFIG_MAPS, document)
        await self.client.create(SECRETS, secret)
        await self.client.delete(CONFIG_MAPS, lock)

    async def _told(self, document: Document, name: str) -> None:
        if not self.is_wrong("initialized: never"):
            status = {"dataSecretName": name, "initialization": {"dataSecretCreated": True}}
            await self.report(document, status)

    async def _see_to_owner(self, document: Document, secret: Document) -> None:
        wanted = {"metadata": {"ownerReferences": [owned_by(document)]}}
        if self.wrong not in ("restored", "data-secret-content: owner"):
            await self.client.patch(SECRETS, Key.of(secret), wanted)

    def _secret(self, document: Document, name: str) -> Document:
        cluster = (
            "any" if self.is_wrong("data-secret-content: label") else self.cluster_of(document)
        )
        keys = ("value", "token") if self.is_wrong("data-secret-content: keys") else ("value",)
        owner = owned_by(document, controller=not self.is_wrong("data-secret-content: owner"))
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": name,
                "namespace": document["metadata"]["namespace"],
                "labels": {"cluster.x-k8s.io/cluster-name": cluster},
                "ownerReferences": [owner],
            },
            "data": {key: _coded(name) for key in keys},
        }


def _coded(text: str) -> str:
    return b64encode(text.encode()).decode()
