"""Migration from client-side to server-side apply, as in kubectl: the last-applied annotation, and
the fields of client-side applies.

kubectl's server-side apply may take over a field without force if the last client-side apply set it
and nobody has changed it since. The annotation is kept up to date, so that the user can go back to
client-side apply. Without the migration of the fields, a server-side apply could never remove a
field that a client-side apply owns.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from kapy.kube import Document
from kapy.kube.apply import managers as entries
from kapy.kube.apply.comparison import changes
from kapy.kube.apply.fields import Fields, difference, union
from kapy.kube.apply.managers import Identity, ManagedEntry, Managers
from kapy.kube.apply.merging import owned_fields
from kapy.kube.apply.types import MapType
from kapy.kube.foreign_json import decode_json

MANAGER: Final = "kubectl"
"""The field manager of kubectl's server-side apply; nobody else's is treated like this."""

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Where kubectl keeps what a client-side apply asked for."""

_LIMIT: Final = 256 * 1024

_PATH: Final = ("f:metadata", "f:annotations", f"f:{ANNOTATION}")


def unchanged_fields(root: MapType, live: Document) -> Fields:
    """Return the fields of the last client-side apply that still have their values."""
    try:
        last = decode_json(_annotations(live).get(ANNOTATION) or "null")
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != live["apiVersion"]:
        return {}
    changed, removed = changes(root, last, live)
    fields = owned_fields(root, last) or {}
    return difference(difference(fields, changed or {}), removed or {})


def refresh_annotation(result: Document, applied: Document) -> Document:
    """Return the object with its last-applied annotation, if it has one, set to the
    applied object.
    """
    annotations = _annotations(result)
    if not annotations.get(ANNOTATION):
        return result
    rest = {key: value for key, value in _annotations(applied).items() if key != ANNOTATION}
    metadata = {key: value for key, value in applied["metadata"].items() if key != "annotations"}
    metadata |= {"annotations": rest} if rest else {}
    configuration = {**applied, "metadata": metadata}
    text = json.dumps(configuration, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    others = {key: value for key, value in annotations.items() if key != ANNOTATION}
    size = sum(len(key) + len(value) for key, value in others.items())
    fits = size + len(ANNOTATION) + len(text) + 1 <= _LIMIT
    after = {**others, ANNOTATION: f"{text}\n"} if fits else others
    if after == annotations:
        return result
    return {**result, "metadata": {**result["metadata"], "annotations": after}}


def _annotations(document: Document) -> dict[str, str]:
    return (document.get("metadata") or {}).get("annotations") or {}


def owns_annotation(fields: Fields) -> bool:
    """Return whether a set of fields contains the last-applied annotation."""
    for name in _PATH:
        if name not in fields:
            return False
        fields = fields[name]
    return True


def migrate_entries(managed_fields: Iterable[Document], manager: str) -> list[Document] | None:
    """Return the entries after a server-side apply by `manager`; None if there is nothing to
    migrate.

    Update entries that own the annotation come from client-side applies. Their fields become the
    manager's.
    """
    there = list(managed_fields)
    managers = entries.read(there)
    names = {
        identity.manager
        for identity, owned in managers.items()
        if not identity.applies and _is_applied(identity, owned)
    }
    if not names:
        return None
    newest = sorted(managers, key=lambda identity: managers[identity].time or "", reverse=True)
    for name in sorted(names):
        _migrate(
            managers, [identity for identity in newest if _is_updater(identity, name)], manager
        )
    return entries.encode_entries(managers)


def _is_applied(identity: Identity, owned: ManagedEntry) -> bool:
    return not identity.subresource and owns_annotation(owned.fields)


def _is_updater(identity: Identity, name: str) -> bool:
    return identity.manager == name and not identity.applies and not identity.subresource


def _migrate(managers: Managers, updaters: list[Identity], manager: str) -> None:
    """Merge the update entries of one manager name, the newest first, into the apply entry."""
    applier = Identity(manager, applies=True, subresource="", api_version="")
    target = managers.get(applier) or managers[updaters[0]]
    fields = target.fields
    for updater in updaters:
        owned = managers.pop(updater)
        if owned.api_version == target.api_version:
            fields = union(fields, owned.fields)
    managers[applier] = ManagedEntry(target.api_version, fields, target.time)
