"""Applies objects from YAML to a management plane, as `kubectl apply --server-side` does."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from kapy.api.cluster_class import ClusterClass
from kapy.client.client import Client
from kapy.client.kinds import Kinds
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import Resource
from kapy.kube.yaml import load_all

MANAGER: Final = "kapy-quickstart"
SAMPLE: Final = "in-memory-cluster.yaml"
CLASS_SAMPLE: Final = "in-memory-class.yaml"


class BadManifest(KapyError):
    """A file cannot be read, or contains a document that is not an object; the message names it."""


class MissingClass(KapyError):
    """A Cluster has no ClusterClass; the message names both."""


def sample() -> list[Document]:
    """Return the objects of the sample cluster: one control plane machine and two workers, in
    memory.
    """
    return _sample(SAMPLE)


def class_sample() -> list[Document]:
    """Return the sample ClusterClass with its templates, and then a Cluster of that class. The
    Cluster and its workers have the names of those in `sample`.
    """
    return _sample(CLASS_SAMPLE)


def _sample(name: str) -> list[Document]:
    text = (files("kapy.apps") / "samples" / name).read_text(encoding="utf-8")
    return read_manifests(text, name)


def read_file(path: Path) -> list[Document]:
    """Return the objects of a file. Raises BadManifest, YamlError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadManifest(f"cannot read {path}: {reason}") from None
    return read_manifests(text, str(path))


def read_manifests(text: str, source: str) -> list[Document]:
    """Return the objects of a YAML text, Lists unrolled. Raises BadManifest, YamlError."""
    objects: list[Document] = []
    for number, document in enumerate(load_all(text, source), 1):
        where = f"{source}: document {number}"
        if not isinstance(document, dict):
            raise BadManifest(f"{where} is not an object (it has no apiVersion and kind)")
        items = document.get("items") if document.get("kind") == "List" else [document]
        if not isinstance(items, list):
            raise BadManifest(f"{where} is a List without items")
        objects += (_check_object(item, where) for item in items)
    if not objects:
        raise BadManifest(f"{source} holds no objects")
    return objects


def _check_object(document: Any, location: str) -> Document:
    if not isinstance(document, dict):
        raise BadManifest(f"{location} has an item that is not an object")
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str) or not document[field]:
            raise BadManifest(f"{location} has no {field}")
    metadata = document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not name:
        raise BadManifest(f"{location} ({document['kind']}) has no metadata.name")
    return document


async def apply_manifests(client: Client, objects: Sequence[Document]) -> list[Document]:
    """Apply all objects, or none: a dry run finds refused objects first.

    Returns the objects as stored. Raises UnknownKind and the server's ApiErrors.
    """
    kinds = Kinds(client)
    placed = [(resource, _with_namespace(obj, resource)) for obj in objects for resource in
              [await kinds.of(obj)]]  # fmt: skip
    names = {obj["metadata"]["name"] for obj in objects if obj["kind"] == "Namespace"}
    for resource, document in placed:
        # The Namespace may be among the objects, and then does not exist before they are stored.
        if document["metadata"].get("namespace") not in names:
            await client.apply(resource, document, field_manager=MANAGER, dry_run=True)
    placed.sort(key=lambda entry: entry[1]["kind"] != "Namespace")
    return [
        await client.apply(resource, document, field_manager=MANAGER)
        for resource, document in placed
    ]


async def require_classes(client: Client, objects: Sequence[Document]) -> None:
    """Check that every Cluster's ClusterClass is among the objects or on the server.

    The server accepts a Cluster without its class, since the class may be created later, and the
    Cluster waits. Raises MissingClass.
    """
    keys = {_key_of(obj) for obj in objects if obj["kind"] == "ClusterClass"}
    for cluster in objects:
        key = _class_of(cluster)
        if key is None or key in keys:
            continue
        try:
            await client.get(ClusterClass.RESOURCE, key)
        except NotFound:
            raise MissingClass(
                f"Cluster {_key_of(cluster)} is made of ClusterClass {key}, which is neither among "
                "the objects nor on the plane; give its file, too, with another -f"
            ) from None


def _class_of(document: Document) -> Key | None:
    """Return the ClusterClass of a Cluster of any API version, None for other kinds."""
    spec = document.get("spec")
    topology = spec.get("topology") if isinstance(spec, dict) else None
    if document["kind"] != "Cluster" or not isinstance(topology, dict):
        return None
    reference = topology.get("classRef")
    if isinstance(reference, dict):
        name, namespace = reference.get("name"), reference.get("namespace")
    else:
        name, namespace = topology.get("class"), topology.get("classNamespace")
    return Key(namespace or _key_of(document).namespace, name) if name else None


def _key_of(document: Document) -> Key:
    metadata = document["metadata"]
    return Key(metadata.get("namespace") or "default", metadata["name"])


def _with_namespace(document: Document, resource: Resource) -> Document:
    metadata = document["metadata"]
    if not resource.namespaced or metadata.get("namespace"):
        return document
    return {**document, "metadata": {**metadata, "namespace": "default"}}
