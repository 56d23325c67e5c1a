"""Conflicts of a server-side apply with the field managers of the object."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.kube.apply.fields import Fields, count, difference, paths
from kapy.kube.apply.managers import Identity
from kapy.kube.errors import Conflict
from kapy.kube.field_errors import limit_messages


class Conflicts(Exception):
    """The conflicts of an apply without force: the contested fields by manager."""

    def __init__(self, contested: Mapping[Identity, Fields]) -> None:
        super().__init__()
        self.contested = contested

    def without(self, allowed: Fields) -> Conflicts | None:
        """Return the conflicts without some fields; None if none is left."""
        others = {who: difference(fields, allowed) for who, fields in self.contested.items()}
        others = {who: fields for who, fields in others.items() if fields}
        return Conflicts(others) if others else None

    def error(self) -> Conflict:
        """Return the error response with kube-apiserver's message."""
        messages = {
            who: list(limit_messages(paths(fields))) for who, fields in self.contested.items()
        }
        listed = [(path, who) for who, some in messages.items() for path in some]
        listed.sort(key=lambda entry: (entry[0], entry[1].order()))
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {who.display_name()}",
                "field": path,
            }
            for path, who in listed
        ]
        if len(listed) == 1:
            path, who = listed[0]
            text = f"1 conflict: conflict with {who.display_name()}: {path}"
        else:
            total = sum(map(count, self.contested.values()))
            text = f"{total} conflicts: {_by_owner(messages)}"
            if total > len(listed):
                text += f"\nand more: only the first {len(listed)} are shown"
        return Conflict(f"Apply failed with {text}", details={"causes": causes})


def _by_owner(fields_by_owner: Mapping[Identity, list[str]]) -> str:
    lines = []
    for who in sorted(fields_by_owner, key=Identity.order):
        lines.append(f"conflicts with {who.display_name()}:")
        lines += [f"- {path}" for path in fields_by_owner[who]]
    return "\n".join(lines)
