"""Server-side apply of a Scale: who owns `replicas` of an object, and what a manager says of it.

The Scale is seen with the owners of `replicas` alone, is applied like any object, and its owners
become those of the object again. kube-apiserver cannot convert what an apply changed in the Scale
of a custom resource, and fails; so does this server, after it looked for conflicts.
"""

from __future__ import annotations

from functools import cache

from kapy.apiserver.ask import Ask
from kapy.apiserver.refusals import StorageFailure, plain_failure
from kapy.apiserver.resources.structs import decoder, facts
from kapy.kube import Document
from kapy.kube.apply import Tracker, Types, Write
from kapy.kube.apply.fields import contains, difference, single
from kapy.kube.errors import ApiError

API_VERSION = "autoscaling/v1"
_STRUCT = "autoscaling.v1.Scale"
_IN_SCALE = ("f:spec", "f:replicas")
_NO_VERSION = f"request to convert CR to an invalid group/version: {API_VERSION}"


@cache
def _tracker() -> Tracker:
    zero = decoder(_STRUCT)({}, None, [])
    return Tracker({API_VERSION: Types.of_struct(facts()["structs"], _STRUCT, zero=zero)})


def applied_scale(
    ask: Ask, live: Document, scale: Document, applied: Document, path: str, *, force: bool
) -> tuple[Document, list[Document]]:
    """The Scale after the apply, and the object's managedFields; `scale` itself if it is equal.

    path: of `replicas` in the object. Raises Conflict, and what kube-apiserver fails with.
    """
    entries = live["metadata"].get("managedFields") or []
    owned = tuple(f"f:{part}" for part in path.lstrip(".").split("."))
    known = ask.kind.schema.tracker.versions
    owners = [one for one in entries if one["apiVersion"] in known and _owns(one, owned)]
    if not owners and ask.kind.custom:
        raise _failure(
            "failed to create manager for existing fields: failed to convert live object "
            f"(/; {API_VERSION}, Kind=Scale) to proper version: {_NO_VERSION}"
        )
    seen = {
        **scale,
        "metadata": {**scale["metadata"], "managedFields": [_of_scale(one) for one in owners]},
    }
    write = Write(ask.manager, API_VERSION, "", "scale")
    merged = _tracker().apply(seen, applied, write, force=force)
    if ask.kind.custom and merged.get("spec") != scale.get("spec"):
        meta = applied.get("metadata") or {}
        name = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        raise _failure(
            f"failed to convert new object ({name}; {API_VERSION}, Kind=Scale) to proper version: "
            f"{_NO_VERSION}"
        )
    found = merged["metadata"].get("managedFields") or []
    return merged, _of_object(ask, entries, found, owned)


def _owns(entry: Document, path: tuple[str, ...]) -> bool:
    return contains(entry.get("fieldsV1") or {}, path)


def _of_scale(entry: Document) -> Document:
    """An owner of `replicas` as one of the Scale."""
    fields: Document = {"f:spec": {"f:replicas": {}}}
    return {**entry, "apiVersion": API_VERSION, "fieldsV1": fields}


def _of_object(
    ask: Ask, entries: list[Document], found: list[Document], path: tuple[str, ...]
) -> list[Document]:
    """The object's entries, with `replicas` owned as the Scale's entries say."""
    left = {_who(one): one for one in found}
    result = []
    for entry in entries:
        if _owns(entry, path) and left.pop(_who(_of_scale(entry)), None) is None:
            fields = difference(entry["fieldsV1"], single(path))
            if fields:
                result.append({**entry, "fieldsV1": fields})
        else:
            result.append(entry)
    version = ask.kind.resource.api_version
    for entry in left.values():
        if _owns(entry, _IN_SCALE):
            made = {**entry, "apiVersion": version, "fieldsV1": single(path)}
            made.pop("time", None)
            result.append(made)
    return result


def _who(entry: Document) -> tuple[str, str, str, str]:
    version = "" if entry["operation"] == "Apply" else entry["apiVersion"]
    return entry.get("manager", ""), entry["operation"], version, entry.get("subresource", "")


def _failure(message: str) -> ApiError:
    return StorageFailure(message, status=plain_failure(message))
