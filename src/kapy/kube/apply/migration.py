"""Fields of client-side applies that become those of a server-side apply, as kubectl does it.

Without it, what a client-side apply owns could never be removed by a server-side apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.kube import Document
from kapy.kube.apply import managers as entries
from kapy.kube.apply.fields import Fields, union
from kapy.kube.apply.last_applied import ANNOTATION
from kapy.kube.apply.managers import Identity, Managers, Owned

_PATH: Final = ("f:metadata", "f:annotations", f"f:{ANNOTATION}")


def owns_annotation(fields: Fields) -> bool:
    """Whether a set of fields has the annotation with what was applied last."""
    for name in _PATH:
        if name not in fields:
            return False
        fields = fields[name]
    return True


def migrated(managed_fields: Iterable[Document], manager: str) -> list[Document] | None:
    """The entries after a server-side apply by `manager`; None where there is nothing to migrate.

    Updaters that own the annotation have applied client-side. Their fields become the manager's.
    """
    there = list(managed_fields)
    found = entries.read(there)
    names = {
        one.manager for one, owned in found.items() if not one.applies and _applied(one, owned)
    }
    if not names:
        return None
    newest = sorted(found, key=lambda one: found[one].time or "", reverse=True)
    for name in sorted(names):
        _migrate(found, [one for one in newest if _is_updater(one, name)], manager)
    return entries.written(found)


def _applied(one: Identity, owned: Owned) -> bool:
    return not one.subresource and owns_annotation(owned.fields)


def _is_updater(one: Identity, name: str) -> bool:
    return one.manager == name and not one.applies and not one.subresource


def _migrate(found: Managers, updaters: list[Identity], manager: str) -> None:
    """Join the updaters of one name, the newest first, into the applier."""
    applier = Identity(manager, applies=True, subresource="", api_version="")
    target = found.get(applier) or found[updaters[0]]
    fields = target.fields
    for one in updaters:
        owned = found.pop(one)
        if owned.api_version == target.api_version:
            fields = union(fields, owned.fields)
    found[applier] = Owned(target.api_version, fields, target.time)
