"""Calls the extensions that generate or validate the patches of a ClusterClass."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.apps.extensions.lifecycle import subject_of
from kapy.hooks.caller import Caller
from kapy.hooks.messages.topology_mutation import GENERATE_PATCHES, VALIDATE_TOPOLOGY
from kapy.kube import Document
from kapy.kube.model import encode


class Patches:
    """Calls the extension of a patch (a `kapy.core.topology.fingerprint.PatchRevisions`)."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def revision(self, extension: str) -> str:
        return self._caller.revision(extension)

    async def generate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        subject = subject_of(cluster)
        return encode(await self._caller.call(GENERATE_PATCHES, extension, subject, request))

    async def validate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        subject = subject_of(cluster)
        return encode(await self._caller.call(VALIDATE_TOPOLOGY, extension, subject, request))
