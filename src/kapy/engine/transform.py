"""Reduce objects that come over a network before they are cached, to save memory.

In process the server's own documents are shared, which costs no memory. The following parts are
removed and must not be read from an informer:

* the fields of `managedFields` entries except those of server-side applies, which show whether
  another apply would change anything (`kapy.kube.apply.no_op`). Of other entries the manager, the
  operation and the subresource are kept. Such a list must never be written back: read the object
  from the server first;
* of CRDs, the descriptions in their schemas, and the schemas of those that declare no contract;
* where only metadata is requested, everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from itertools import zip_longest
from sys import intern
from typing import Any, Protocol

from msgspec.json import Encoder

from kapy.kube import Document
from kapy.kube.names import CRDS, Resource

_encode = Encoder().encode


class TransformFunc(Protocol):
    """Returns a document without the parts that are not kept. It shares the rest with the document,
    and with the former state of the object (`previous`), if there is one.
    """

    def __call__(self, document: Document, previous: Document | None = None) -> Document: ...


_SHORT = 128
_CONTRACT = "cluster.x-k8s.io/"


def transform_of(resource: Resource, *, metadata: bool, managers: bool = True) -> TransformFunc:
    """Return the transform function for a resource. managers: keep the managers of other
    entries.
    """
    if not managers:
        return partial(strip_managed_fields, managers=False)
    if metadata:
        return partial(only_metadata, resource)
    return strip_crd if resource == CRDS else strip_managed_fields


def strip_managed_fields(
    document: Document, previous: Document | None = None, *, managers: bool = True
) -> Document:
    """Remove fields owned by updates from managedFields, and intern short texts."""
    metadata = document["metadata"]
    fields = metadata.get("managedFields")
    if fields is not None:
        metadata = {name: value for name, value in metadata.items() if name != "managedFields"}
        document = {**document, "metadata": metadata}
    shared: Document = _shared(document, previous)
    old_fields = () if previous is None else previous["metadata"].get("managedFields") or ()
    entries = [
        (_equal_entry(field, old_fields) or _entry(field)) if _is_apply(field) else _stub(field)
        for field in fields or ()
        if managers or _is_apply(field)
    ]
    if entries:
        shared["metadata"]["managedFields"] = entries
    return shared


def _stub(entry: Document) -> Document:
    """Return an entry without its fields; equal entries share one document."""
    return _entry_head(*(entry.get(name) or "" for name in _NAMED))


_NAMED = ("manager", "operation", "subresource")


@lru_cache(maxsize=1_000)
def _entry_head(*values: str) -> Document:
    """Return an entry without its fields; equal ones are one document."""
    return {name: value for name, value in zip(_NAMED, values, strict=True) if value}


def _entry(entry: Document) -> Document:
    fields = entry.get("fieldsV1")
    entry_copy: Document = _intern_texts(
        {name: value for name, value in entry.items() if name != "fieldsV1"}
    )
    return entry_copy if fields is None else {**entry_copy, "fieldsV1": _form(fields)}


def _equal_entry(entry: Document, old_fields: Sequence[Document]) -> Document | None:
    """Return the equal entry of the former state, None for none. Entries have texts only."""
    return next((item for item in old_fields if item == entry), None)


_FORMS: dict[tuple[Any, ...], Document] = {}
_MOST_FORMS = 20_000


def _form(fields: Document) -> Document:
    """Return the applied fields with shared parts: they are nearly the same for all objects of a
    kind.
    """
    result = {intern(name): _form(below) for name, below in fields.items()}
    shared = _FORMS.setdefault((*result, *map(id, result.values())), result)
    if len(_FORMS) > _MOST_FORMS:
        _FORMS.clear()  # current holders keep their parts; later objects share new ones
    return shared


def _shared(node: Any, old: Any) -> Any:
    """Return a value that shares its unchanged parts with a former value, and its short texts with
    everything.
    """
    kind = type(node)
    if kind is not type(old) or (kind is not dict and kind is not list):
        return _intern_texts(node)
    if node == old and _encode(node) == _encode(old):  # Python finds that true equals 1
        return old
    if kind is dict:
        return {name: _shared(value, old.get(name)) for name, value in node.items()}
    return [_shared(item, former) for item, former in zip_longest(node, old[: len(node)])]


def _intern_texts(node: Any) -> Any:
    """Intern texts that many objects share (names, reasons, timestamps)."""
    kind = type(node)
    if kind is str:
        return intern(node) if len(node) <= _SHORT else node
    if kind is dict:
        return {name: _intern_texts(value) for name, value in node.items()}
    if kind is list:
        return [_intern_texts(item) for item in node]
    return node


def only_metadata(
    resource: Resource, document: Document, previous: Document | None = None
) -> Document:
    """Keep the object's identity and metadata (a PartialObjectMetadata has neither kind nor
    version).
    """
    named = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**named, "metadata": strip_managed_fields(document, previous)["metadata"]}


def strip_crd(document: Document, previous: Document | None = None) -> Document:
    """Keep of a CRD its versions and the schemas that declare a contract."""
    del previous  # it lacks most of what is compared
    stripped = strip_managed_fields(document)
    labels = stripped["metadata"].get("labels") or {}
    keeps = any(name.startswith(_CONTRACT) for name in labels)
    spec = stripped["spec"]
    versions = [_version(version, keeps=keeps) for version in spec.get("versions") or ()]
    return {**stripped, "spec": {**spec, "versions": versions}}


def _version(version: Document, *, keeps: bool) -> Document:
    if not keeps:
        return {name: value for name, value in version.items() if name != "schema"}
    schema = version.get("schema")
    return version if schema is None else {**version, "schema": _without_descriptions(schema)}


def _without_descriptions(node: Any) -> Any:
    """Remove descriptions from a schema (a property with that name is kept)."""
    if isinstance(node, dict):
        return {
            name: _without_descriptions(value)
            for name, value in node.items()
            if not (name == "description" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_without_descriptions(item) for item in node]
    return node


def _is_apply(entry: Document) -> bool:
    return entry.get("operation") == "Apply" and not entry.get("subresource")
