"""Set ownership on a provider's object: owner references and the cluster's label.

These are the only fields of such an object that core writes. They have other writers, too: a patch
is computed from a state of the object, and again if the object has changed since.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from kapy.api.names import Label
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, KapyError
from kapy.kube.meta import OwnerReference
from kapy.kube.model import encode
from kapy.kube.names import Resource, split_api_version

ATTEMPTS: Final = 5


class OwnedByAnother(KapyError):
    """The object already has another controller."""


async def claim(
    client: Client, resource: Resource, document: Document, patch: Callable[[Document], Document]
) -> Document:
    """Patch the object with `patch(document)` unless that is empty; return its newest state.

    Raises Conflict if others change it faster than it can be patched.
    """
    key = Key.of(document)
    for attempt in range(ATTEMPTS):
        change = patch(document)
        if not change:
            break
        try:
            return await client.patch(resource, key, change)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            document = await client.get(resource, key)
    return document


def ownership_patch(
    document: Document,
    owner: OwnerReference,
    *,
    cluster: str | None = None,
    without: Callable[[Document], bool] | None = None,
) -> Document:
    """Return the merge patch that sets `owner` (replacing references to the same object) and the
    cluster's label; {} if nothing changes. without: references to remove.

    Raises OwnedByAnother if `owner` is to be the controller and there is another one.
    """
    metadata = document["metadata"]
    before: list[Document] = metadata.get("ownerReferences") or []
    after = [item for item in before if without is None or not without(item)]
    if owner.controller:
        _check_controller(document, after, owner)
    wanted = encode(owner)
    places = [place for place, item in enumerate(after) if is_same_owner(item, wanted)]
    if not places:
        after.append(wanted)
    elif not _is_same_reference(after[places[0]], wanted):
        after[places[0]] = wanted
    change: Document = {}
    if after != before:
        change["ownerReferences"] = after
        change["resourceVersion"] = metadata["resourceVersion"]
    if cluster is not None and (metadata.get("labels") or {}).get(Label.CLUSTER_NAME) != cluster:
        change["labels"] = {Label.CLUSTER_NAME: cluster}
    return {"metadata": change} if change else {}


def ensure_owner(references: list[OwnerReference], wanted: OwnerReference) -> None:
    """Add an owner reference, or correct an existing one: its uid changes with a restore, its
    apiVersion with an upgrade.
    """
    for place, reference in enumerate(references):
        if _identity(reference) == _identity(wanted):
            if (reference.uid, reference.api_version) != (wanted.uid, wanted.api_version):
                references[place] = wanted
            return
    references.append(wanted)


def _identity(reference: OwnerReference) -> tuple[str, str, str]:
    group, _ = split_api_version(reference.api_version)
    return group, reference.kind, reference.name


def is_same_owner(reference: Document, other: Document) -> bool:
    """Return whether two references name the same object, in any version."""
    return (
        reference["kind"] == other["kind"]
        and reference["name"] == other["name"]
        and split_api_version(reference["apiVersion"])[0]
        == split_api_version(other["apiVersion"])[0]
    )


def is_owned_by(document: Document, owner: Document) -> bool:
    """Return whether the object has the owner, by uid."""
    references = document["metadata"].get("ownerReferences") or []
    return any(reference["uid"] == owner["metadata"]["uid"] for reference in references)


def _is_same_reference(reference: Document, wanted: Document) -> bool:
    """Return whether a reference is as wanted; blockOwnerDeletion is not compared."""
    names: tuple[str, ...] = ("apiVersion", "uid")
    if any(reference.get(name) != wanted[name] for name in names):
        return False
    return bool(reference.get("controller")) == bool(wanted.get("controller"))


def _check_controller(document: Document, references: list[Any], owner: OwnerReference) -> None:
    for reference in references:
        if reference.get("controller") and reference["uid"] != owner.uid:
            raise OwnedByAnother(
                f"{document['kind']} {Key.of(document)} is already owned by another "
                f"{reference['kind']} controller {reference['name']}"
            )
