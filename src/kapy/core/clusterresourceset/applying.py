"""Apply objects to a workload cluster by the set's strategy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.client.client import Client
from kapy.client.kinds import Kinds, UnknownKind
from kapy.engine.failure import NotYet
from kapy.kube import Document, Key
from kapy.kube.errors import AlreadyExists, ApiError, KapyError, NotFound, Unreachable
from kapy.kube.names import Resource, split_api_version
from kapy.kube.patch.merge_patch import difference

APPLY_ONCE: Final = "ApplyOnce"
RECONCILE: Final = "Reconcile"
_SERVER_FIELDS: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)


class NotApplied(KapyError):
    """Some objects could not be applied; each with its reason."""


class _NoNamespace(KapyError):
    """An object of a namespaced kind has no namespace."""


@dataclass(slots=True)
class Progress:
    """The number of objects of a source that were tried in a cluster, and their errors. A slow
    cluster takes several reconciles.
    """

    done: int = 0
    problems: list[str] = field(default_factory=list)


async def apply_objects(
    client: Client, objects: Sequence[Document], strategy: str, progress: Progress, *, secret: bool
) -> None:
    """Apply as many objects as possible. Raises NotApplied; raises Unreachable and NotYet
    (NotConnected) at once, since every other object would fail, too.

    secret: the objects are from a Secret, so errors must not quote the server.
    """
    kinds, problems = Kinds(client), progress.problems
    for document in objects[progress.done :]:
        try:
            kinds = await _apply_one(client, kinds, document, strategy)
        except (Unreachable, NotYet):
            raise
        except KapyError as error:
            what = error.reason if secret and isinstance(error, ApiError) else str(error)
            problems.append(f"putting {_name(document)} into the cluster: {what}")
        progress.done += 1
    if problems:
        message = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise NotApplied(message)


async def _apply_one(client: Client, kinds: Kinds, document: Document, strategy: str) -> Kinds:
    """Apply one object; return the kinds as they are known afterwards."""
    try:
        resource = await kinds.of(document)
    except UnknownKind:
        kinds = Kinds(client)  # an earlier object may have been its CRD
        resource = await kinds.of(document)
    if resource.namespaced and not document["metadata"].get("namespace"):
        raise _NoNamespace("metadata.namespace is not set")
    if strategy == RECONCILE:
        await _make_equal(client, resource, document)
    else:
        await _create(client, resource, document)
    return kinds


async def _create(client: Client, resource: Resource, document: Document) -> None:
    try:
        await client.create(resource, document)
    except AlreadyExists:
        return


async def _make_equal(client: Client, resource: Resource, document: Document) -> None:
    """Update the object; fields that the manifest lacks are removed, except for fields of the
    server.
    """
    key = Key.of(document)
    try:
        current = await client.get(resource, key)
    except NotFound:
        await client.create(resource, document)
        return
    patch = difference(current, _with_server_fields(document, current))
    if patch:
        await client.patch(resource, key, patch)


def _with_server_fields(document: Document, current: Document) -> Document:
    server_fields = {
        name: value for name, value in current["metadata"].items() if name in _SERVER_FIELDS
    }
    own_fields = {
        name: value for name, value in document["metadata"].items() if name not in _SERVER_FIELDS
    }
    whole = {**document, "metadata": {**own_fields, **server_fields}}
    if "status" in current:
        whole["status"] = current["status"]
    return whole


def _name(document: Document) -> str:
    group, version = split_api_version(document["apiVersion"])
    return f"{group}/{version}, Kind={document['kind']} {Key.of(document)}"
