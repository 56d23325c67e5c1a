"""Field ownership of `replicas` when the object is written through its Scale.

The managers of `replicas` become managers of `spec.replicas` of the Scale. The Scale is then
written like any object, and its managers become managers of the object's `replicas` again. As in
kube-apiserver, an update of an owned `replicas` creates a separate entry without a time, and no
manager is recorded while the object has none. kube-apiserver fails when it converts an applied
Scale of a custom resource; this server returns the same error after the check for conflicts.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeAlias

from kapy.apiserver.errors import StorageFailure, failure_status
from kapy.apiserver.request.context import RequestContext
from kapy.apiserver.resources.structs import decoder, facts
from kapy.kube import Document
from kapy.kube.apply import Tracker, Types, Write, managers
from kapy.kube.apply.fields import contains, difference, of_path
from kapy.kube.errors import ApiError

Paths: TypeAlias = Mapping[str, str]
"""The path of `replicas` in an object, by the object's apiVersion."""

API_VERSION = "autoscaling/v1"
_STRUCT = "autoscaling.v1.Scale"
_IN_SCALE = ("f:spec", "f:replicas")
_NO_VERSION = f"request to convert CR to an invalid group/version: {API_VERSION}"


@cache
def _tracker() -> Tracker:
    zero = decoder(_STRUCT)({}, None, [])
    return Tracker({API_VERSION: Types.of_struct(facts()["structs"], _STRUCT, zero=zero)})


class _ScaleManagers:
    """The managers of an object's fields and of its Scale.

    paths: the path of `replicas` by apiVersion.
    """

    def __init__(self, context: RequestContext, live: Document, paths: Paths) -> None:
        versions = context.kind.schema.tracker.versions
        result = managers.read(live["metadata"].get("managedFields") or ())
        self._version = context.kind.resource.api_version
        self._paths = {version: _steps(path) for version, path in paths.items()}
        self._found = {
            who: managed_entry
            for who, managed_entry in result.items()
            if managed_entry.api_version in versions
        }

    def of_scale(self) -> list[Document]:
        """Return the managedFields of the Scale."""
        fields = of_path(_IN_SCALE)
        return managers.encode_entries(
            {
                who: managers.ManagedEntry(API_VERSION, fields, managed_entry.time)
                for who, managed_entry in self._found.items()
                if self._owns_replicas(managed_entry)
            }
        )

    def of_object(self, scale: list[Document]) -> list[Document]:
        """Return the managedFields of the object, given those of the Scale."""
        remaining = managers.read(scale)
        result: managers.Managers = {}
        for who, managed_entry in self._found.items():
            if not self._owns_replicas(managed_entry) or remaining.pop(who, None) is not None:
                result[who] = managed_entry
            elif fields := difference(
                managed_entry.fields, of_path(self._paths[managed_entry.api_version])
            ):
                result[who] = managed_entry.with_fields(fields)
        for who, value in remaining.items():
            if contains(value.fields, _IN_SCALE):
                fields = of_path(self._paths[self._version])
                result[who] = managers.ManagedEntry(self._version, fields, None)
        return managers.encode_entries(result)

    def _owns_replicas(self, managed_entry: managers.ManagedEntry) -> bool:
        """Report whether a manager owns `replicas`, by the path in the manager's apiVersion."""
        path = self._paths.get(managed_entry.api_version)
        return path is not None and contains(managed_entry.fields, path)


def _steps(path: str) -> tuple[str, ...]:
    return tuple(f"f:{part}" for part in path.lstrip(".").split("."))


def apply_scale(
    context: RequestContext,
    live: Document,
    scale: Document,
    applied: Document,
    paths: Paths,
    *,
    force: bool,
) -> tuple[Document, list[Document]]:
    """Return the Scale after the apply, and the object's managedFields.

    The Scale is `scale` itself if nothing changed. paths: the path of `replicas` by apiVersion.
    Raises Conflict, or the error that kube-apiserver returns.
    """
    owners = _ScaleManagers(context, live, paths)
    before = _with_managed_fields(scale, owners.of_scale())
    if context.kind.custom and not before["metadata"]["managedFields"]:
        raise _failure(
            "failed to create manager for existing fields: failed to convert live object "
            f"(/; {API_VERSION}, Kind=Scale) to proper version: {_NO_VERSION}"
        )
    write = Write(context.field_manager, API_VERSION, "", "scale")
    merged = _tracker().apply(before, applied, write, force=force)
    if context.kind.custom and merged.get("spec") != scale.get("spec"):
        meta = applied.get("metadata") or {}
        name = f"{meta.get('namespace', '')}/{meta.get('name', '')}"
        raise _failure(
            f"failed to convert new object ({name}; {API_VERSION}, Kind=Scale) to proper version: "
            f"{_NO_VERSION}"
        )
    return merged, owners.of_object(merged["metadata"].get("managedFields") or [])


def managers_after_write(
    context: RequestContext, live: Document, scale: Document, wanted: Document, paths: Paths
) -> list[Document]:
    """Return the object's managedFields after an update or a patch of its Scale to `wanted`."""
    owners = _ScaleManagers(context, live, paths)
    replicas = (wanted.get("spec") or {}).get("replicas")
    after: Document = {
        **wanted,
        "metadata": wanted.get("metadata") or {},
        "spec": {"replicas": replicas} if replicas else {},
    }
    write = Write(context.field_manager, API_VERSION, "", "scale")
    tracked = _tracker().track(_with_managed_fields(scale, owners.of_scale()), after, write)
    return owners.of_object(tracked["metadata"].get("managedFields") or [])


def _with_managed_fields(scale: Document, entries: list[Document]) -> Document:
    return {**scale, "metadata": {**scale["metadata"], "managedFields": entries}}


def _failure(message: str) -> ApiError:
    return StorageFailure(message, status=failure_status(message))
