"""The rows of a status: conditions and milestones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapy.api.older.difference import Place, Row
from kapy.api.older.documents import bool_to_pointer, put, value_at
from kapy.api.older.fields import Fields, camel_case, optional_field
from kapy.api.older.rows import drop, retype
from kapy.api.status import V1Beta1Conditions
from kapy.kube import Document


def conditions(
    group: Any,
    *,
    deprecated: Mapping[str, Any] | None = None,
    newer: tuple[str, ...] = (),
    always: bool = False,
) -> Row:
    """Convert the conditions, and the other fields of a status whose meaning has changed.

    The older version has the new fields in `v1beta2`. The newest version has the old fields in
    `deprecated.v1beta1`. group: the type of the field `v1beta2`; None if the older version lacks
    it. deprecated: the fields besides `conditions` in `deprecated.v1beta1`, with their types in the
    older version. newer: the fields besides `conditions` in `v1beta2`. always: write `deprecated`
    even when it is empty.
    """
    fields_in_deprecated = deprecated or {}
    old_names = ("conditions", *(camel_case(name) for name in fields_in_deprecated))
    new_names = ("conditions", *(camel_case(name) for name in newer))

    def shape(fields: Fields) -> Fields:
        fields = drop("deprecated").shape(fields)
        both = {name: hint for name, hint in fields_in_deprecated.items() if name in fields}
        fields = retype(conditions=V1Beta1Conditions, **both).shape(fields)
        removals = tuple(name for name in newer if name not in both)
        fields = drop(*removals).shape(fields)
        only = {key: hint for key, hint in fields_in_deprecated.items() if key not in both}
        only |= {"v1beta2": group} if group is not None else {}
        return fields | {key: optional_field(camel_case(key), hint) for key, hint in only.items()}

    def upgrade(status: Document, _: Document | None, __: Place) -> None:
        old = {name: status.pop(name) for name in old_names if name in status}
        status.update(status.pop("v1beta2", None) or {})
        if old or always:
            status["deprecated"] = {"v1beta1": old}

    def downgrade(status: Document, _: Place) -> None:
        new = {name: status.pop(name) for name in new_names if name in status}
        old = value_at(status.pop("deprecated", None), "v1beta1") or {}
        status.update({name: old[name] for name in old_names if name in old})
        if new:
            status["v1beta2"] = new

    return Row(shape, lambda _: (upgrade, downgrade))


def milestones(**flags: tuple[str, Any]) -> Row:
    """Convert flags of the older version to milestones in `initialization` of the newest version.

    flags: for each field name in the older version, the JSON name of the milestone and the type of
    the flag.
    """
    hints = {name: hint for name, (_, hint) in flags.items()}
    names = [(camel_case(name), milestone) for name, (milestone, _) in flags.items()]

    def shape(fields: Fields) -> Fields:
        new = {name: optional_field(camel_case(name), hint) for name, hint in hints.items()}
        return drop("initialization").shape(fields) | new

    def upgrade(status: Document, before: Document | None, _: Place) -> None:
        former = value_at(before, "initialization")
        reached: Document = {}
        status["initialization"] = reached
        for old, new in names:
            put(reached, new, bool_to_pointer(status.pop(old, False), value_at(former, new)))

    def downgrade(status: Document, _: Place) -> None:
        reached = status.pop("initialization", {})
        for old, new in names:
            status[old] = bool(reached.get(new))

    return Row(shape, lambda _: (upgrade, downgrade), restores=True)
