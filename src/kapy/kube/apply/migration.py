"""Fields of client-side applies that become fields of a server-side apply, as in kubectl.

Without this migration, a server-side apply could never remove a field that a client-side apply
owns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.kube import Document
from kapy.kube.apply import managers as entries
from kapy.kube.apply.fields import Fields, union
from kapy.kube.apply.last_applied import ANNOTATION
from kapy.kube.apply.managers import Identity, ManagedEntry, Managers

_PATH: Final = ("f:metadata", "f:annotations", f"f:{ANNOTATION}")


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
