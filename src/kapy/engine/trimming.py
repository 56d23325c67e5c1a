"""What a cache keeps of an object that came over a network: what nobody here reads costs memory.

In process the server's own documents are handed out, which cost nothing more. Nothing that is left
out here may be asked of an informer:

* the fields of `managedFields` entries but those of server-side applies, which tell whether one
  more would change anything (`kapy.kube.apply.settled`). Of other entries the manager, the
  operation and the subresource are kept. Such a list must never be written back: read the object
  from the server first;
* of CRDs, the descriptions in their schemas, and the schemas of those that declare no contract;
* where only metadata is asked for, all the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from sys import intern
from typing import Any, TypeAlias

from kapy.kube import Document
from kapy.kube.names import CRDS, Resource

Trim: TypeAlias = Callable[[Document], Document]
"""A document without what is not kept; it shares the rest."""

_SHORT = 128
_CONTRACT = "cluster.x-k8s.io/"


def trim_of(resource: Resource, *, metadata: bool, managers: bool = True) -> Trim:
    """How the objects of a resource are kept. managers: with the managers of other entries."""
    if not managers:
        return partial(whole, managers=False)
    if metadata:
        return partial(only_metadata, resource)
    return definition if resource == CRDS else whole


def whole(document: Document, *, managers: bool = True) -> Document:
    """Everything but the fields that others own, and each short text only once."""
    metadata = document["metadata"]
    fields = metadata.get("managedFields")
    if fields is not None:
        metadata = {name: value for name, value in metadata.items() if name != "managedFields"}
        document = {**document, "metadata": metadata}
    shared: Document = _shared(document)
    entries = [
        _entry(one) if _is_apply(one) else _stub(one)
        for one in fields or ()
        if managers or _is_apply(one)
    ]
    if entries:
        shared["metadata"]["managedFields"] = entries
    return shared


def _stub(entry: Document) -> Document:
    return _named(*(entry.get(name) or "" for name in _NAMED))


_NAMED = ("manager", "operation", "subresource")


@lru_cache(maxsize=1_000)
def _named(*values: str) -> Document:
    """An entry without its fields; equal ones are one document."""
    return {name: value for name, value in zip(_NAMED, values, strict=True) if value}


def _entry(entry: Document) -> Document:
    fields = entry.get("fieldsV1")
    kept: Document = _shared({name: value for name, value in entry.items() if name != "fieldsV1"})
    return kept if fields is None else {**kept, "fieldsV1": _form(fields)}


_FORMS: dict[tuple[Any, ...], Document] = {}
_MOST_FORMS = 20_000


def _form(fields: Document) -> Document:
    """Which fields somebody applied: nearly the same of all objects of a kind, so that each part
    of it is kept once."""
    made = {intern(name): _form(below) for name, below in fields.items()}
    known = _FORMS.setdefault((*made, *map(id, made.values())), made)
    if len(_FORMS) > _MOST_FORMS:
        _FORMS.clear()  # whoever holds parts of it goes on to; what comes next is shared anew
    return known


def _shared(node: Any) -> Any:
    """The same, with texts that other objects have too (names, reasons, moments) kept once."""
    kind = type(node)
    if kind is str:
        return intern(node) if len(node) <= _SHORT else node
    if kind is dict:
        return {name: _shared(value) for name, value in node.items()}
    if kind is list:
        return [_shared(one) for one in node]
    return node


def only_metadata(resource: Resource, document: Document) -> Document:
    """What tells which object it is, and how it is labelled (a PartialObjectMetadata says neither
    kind nor version of its object)."""
    named = {"apiVersion": resource.api_version, "kind": resource.kind}
    return {**named, "metadata": whole(document)["metadata"]}


def definition(document: Document) -> Document:
    """A CRD: what is served how, and the form of what keeps a contract."""
    kept = whole(document)
    labels = kept["metadata"].get("labels") or {}
    keeps = any(name.startswith(_CONTRACT) for name in labels)
    spec = kept["spec"]
    versions = [_version(one, keeps=keeps) for one in spec.get("versions") or ()]
    return {**kept, "spec": {**spec, "versions": versions}}


def _version(version: Document, *, keeps: bool) -> Document:
    if not keeps:
        return {name: value for name, value in version.items() if name != "schema"}
    schema = version.get("schema")
    return version if schema is None else {**version, "schema": _wordless(schema)}


def _wordless(node: Any) -> Any:
    """A schema without descriptions (a property of that name is no text, and stays)."""
    if isinstance(node, dict):
        return {
            name: _wordless(value)
            for name, value in node.items()
            if not (name == "description" and isinstance(value, str))
        }
    if isinstance(node, list):
        return [_wordless(one) for one in node]
    return node


def _is_apply(entry: Document) -> bool:
    return entry.get("operation") == "Apply" and not entry.get("subresource")
