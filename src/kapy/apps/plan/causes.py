"""Finds the patch, variable or template behind each changed field of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import shorten
from typing import Final

from kapy.apps.plan.differences import Change, FieldChange, Verb, compared_part, field_changes
from kapy.apps.plan.snapshot import Name, Snapshot
from kapy.kube import Key
from kapy.topology.patches import Cause


class Causes:
    """The causes that the topology controller reported, by Cluster."""

    def __init__(self) -> None:
        self._told: dict[tuple[str, str, str], list[Cause]] = {}

    def record(self, cluster: Key, causes: Sequence[Cause]) -> None:
        """Record the causes of one reconcile of a Cluster; they replace earlier ones."""
        fresh: dict[tuple[str, str, str], list[Cause]] = {}
        for cause in causes:
            fresh.setdefault((cluster.namespace, cause.kind, cause.name), []).append(cause)
        self._told |= fresh

    def explain(self, before: Snapshot, changes: Iterable[Change]) -> Iterator[Change]:
        """The changes with the causes of their fields.

        A template that replaces another one is shown as the difference between them.
        """
        result = list(changes)
        stands_for = _former_names(result)
        for change in result:
            kind, key = change.name.kind, change.name.key
            replaced = stands_for.get((kind.kind, key.name), "")
            old = before.get(Name(kind, Key(key.namespace, replaced)))
            fields = change.fields
            if change.verb is Verb.CREATE and old is not None:
                fields = tuple(field_changes(compared_part(old), compared_part(change.after)))
            causes = [
                cause
                for name in (key.name, replaced)
                for cause in self._told.get((key.namespace, kind.kind, name), ())
            ]
            yield replace(
                change,
                replaces=replaced if old is not None else "",
                fields=tuple(_explain_field(field, causes) for field in fields),
                patches={cause.path: describe_cause(cause) for cause in causes},
            )


def _former_names(changes: Sequence[Change]) -> dict[tuple[str, str], str]:
    """Return, for each created object (kind and name), the name of the object that was referenced
    before."""
    created = {
        (item.name.kind.kind, item.name.key.name) for item in changes if item.verb is Verb.CREATE
    }
    names = {}
    for change in changes:
        for field in change.fields:
            if not field.path.endswith("/name") or not isinstance(field.after, str):
                continue
            for kind, name in created:
                if name == field.after and isinstance(field.before, str):
                    names[kind, name] = field.before
    return names


def _explain_field(field: FieldChange, causes: Sequence[Cause]) -> FieldChange:
    because = tuple(
        dict.fromkeys(describe_cause(cause) for cause in causes if _touches(cause.path, field.path))
    )
    return replace(field, causes=because) if because else field


def _touches(patched: str, path: str) -> bool:
    """Return whether a patch of one path can explain a change at another: the same path, above or
    below.

    An item appended to a list (`/-`) can be any of its items.
    """
    patched = patched.removesuffix("/-")
    return path == patched or path.startswith(f"{patched}/") or patched.startswith(f"{path}/")


def describe_cause(cause: Cause) -> str:
    """`patch imageRepository, variable imageRepository`."""
    where = "" if cause.definition is None else f" definitions[{cause.definition}]"
    source = shorten(cause.source, _LONGEST, placeholder=" …")
    return f"patch {cause.patch}{where}" + (f", {source}" if source else "")


_LONGEST: Final = 60
