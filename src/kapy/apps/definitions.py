"""Installs the CRDs of `kapy.api` on a server, as any user would."""

from __future__ import annotations

from typing import Final

from kapy.api.crds import crds
from kapy.api.names import Annotation
from kapy.apps.built_in import with_provider_labels
from kapy.apps.sound_schemas import accept_own_schemas
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.names import CRDS
from kapy.kube.patch.merge_patch import apply

_DEFAULTS: Final[Document] = {"conversion": {"strategy": "None"}}
"""Values that a server sets in the spec by default."""


async def install_definitions(client: Client) -> None:
    """Create the CRDs that are missing, update those of another version of this program."""
    accept_own_schemas()
    there = {Key.of(item): item for item in (await client.list(CRDS)).items}
    for crd in map(with_provider_labels, crds()):
        stored = there.get(Key.of(crd))
        if stored is None:
            await client.create(CRDS, _as_migrated(crd))
        elif stored["spec"] != {**_DEFAULTS, **crd["spec"]} or not _has_provider_labels(
            stored, crd
        ):
            metadata = apply(stored["metadata"], crd["metadata"])
            await client.update(CRDS, {**stored, "metadata": metadata, "spec": crd["spec"]})


def _as_migrated(crd: Document) -> Document:
    """Return a new CRD, as migrated: in its first generation it has no objects to migrate."""
    metadata = crd["metadata"]
    annotations = {**metadata["annotations"], Annotation.CRD_MIGRATION_OBSERVED_GENERATION: "1"}
    return {**crd, "metadata": {**metadata, "annotations": annotations}}


def _has_provider_labels(stored: Document, crd: Document) -> bool:
    """Return whether the labels and annotations exist by which clusterctl recognizes the owner of
    the CRD.
    """
    metadata, wanted = stored["metadata"], crd["metadata"]
    return all(
        wanted[part].items() <= (metadata.get(part) or {}).items()
        for part in ("labels", "annotations")
    )
