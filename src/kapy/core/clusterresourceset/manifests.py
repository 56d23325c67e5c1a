"""Manifests in the values of a ConfigMap or a Secret: parsing of their objects, and their
application to a workload cluster by the strategy of the set.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kapy.client.client import Client
from kapy.client.kinds import Kinds, UnknownKind
from kapy.engine.correlation import Lru
from kapy.engine.result import NotYet
from kapy.kube import Document, Key
from kapy.kube.creation_order import creation_rank
from kapy.kube.errors import AlreadyExists, ApiError, KapyError, NotFound, Unreachable
from kapy.kube.names import Resource, split_api_version
from kapy.kube.patch.merge_patch import difference
from kapy.kube.yaml import YamlError, load_all
from kapy.remote.secrets import BadSecret, secret_value

Values = Mapping[str, bytes]
_CACHE_SIZE: Final = 32
APPLY_ONCE: Final = "ApplyOnce"
_RECONCILE: Final = "Reconcile"
_SERVER_FIELDS: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)


class BadManifest(KapyError):
    """A value does not consist of objects; the message names it, and never quotes it."""


def values_of(source: Document) -> Values:
    """Return the values of a ConfigMap or Secret, sorted by key. Raises BadManifest."""
    name, data = f"{source['kind']} {Key.of(source)}", source.get("data")
    if data is None:
        raise BadManifest(f"{name} has no data")
    if source["kind"] != "Secret":
        return {entry: data[entry].encode() for entry in sorted(data)}
    try:
        return {entry: secret_value(source, entry) or b"" for entry in sorted(data)}
    except BadSecret as error:
        raise BadManifest(str(error)) from None


def hash_of(values: Values) -> str:
    """Return `sha256:` and the digest of all values in order, to detect changes of a source."""
    digest = hashlib.sha256()
    for value in values.values():
        digest.update(value)
    return f"sha256:{digest.hexdigest()}"


def objects_of(values: Values, source: str, *, secret: bool) -> list[Document]:
    """Return all objects in the order of their creation. Raises BadManifest.

    A value is YAML with any number of documents, or a JSON list. source: its name in errors.
    secret: errors name only the place.
    """
    objects = list[Document]()
    for entry, value in values.items():
        path = f"{source}: {entry}"
        result = list(_objects(value, path, secret=secret))
        objects += sorted(result, key=lambda item: creation_rank(item["kind"]))
    return objects


def _objects(value: bytes, location: str, *, secret: bool) -> Iterator[Document]:
    try:
        documents = load_all(value, location)
    except YamlError as error:
        raise BadManifest(
            f"{location} is neither YAML nor JSON" if secret else str(error)
        ) from None
    if len(documents) == 1 and isinstance(documents[0], list) and value.lstrip().startswith(b"["):
        documents = documents[0]
    for number, document in enumerate(documents, 1):
        if problem := _problem(document):
            raise BadManifest(f"{location}: document {number} {problem}")
        yield document


def _problem(document: Any) -> str:
    if not isinstance(document, dict):
        return "is no object"
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str):
            return f"has no {name}"
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        return "has no metadata.name"
    return ""


class Manifests:
    """Parses each state of a source only once, since many clusters get the same objects."""

    def __init__(self) -> None:
        self._parsed: Lru[Sequence[Document]] = Lru(_CACHE_SIZE)

    async def of(self, source: Document, values: Values, hash_: str) -> Sequence[Document]:
        """Return the objects of a source; shared: read only. Raises BadManifest."""
        run = self._parsed.get(hash_)
        if run is None:
            name, secret = f"{source['kind']} {Key.of(source)}", source["kind"] == "Secret"
            # Parsing megabytes of YAML takes long, so it runs in a thread.
            loop = asyncio.get_running_loop()
            run = await loop.run_in_executor(None, lambda: objects_of(values, name, secret=secret))
            self._parsed.put(hash_, run)
        return run


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
    if strategy == _RECONCILE:
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
