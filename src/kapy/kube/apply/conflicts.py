"""Fields that an apply would change and others own."""

from __future__ import annotations

from collections.abc import Mapping

from kapy.kube.apply.fields import Fields, difference, paths
from kapy.kube.apply.managers import Identity
from kapy.kube.errors import Conflict


class Conflicts(Exception):
    """What an apply without force runs into: the contested fields by owner."""

    def __init__(self, contested: Mapping[Identity, Fields]) -> None:
        super().__init__()
        self.contested = contested

    def without(self, allowed: Fields) -> Conflicts | None:
        """Those that are left when some fields may be taken; None when none is."""
        left = {who: difference(fields, allowed) for who, fields in self.contested.items()}
        left = {who: fields for who, fields in left.items() if fields}
        return Conflicts(left) if left else None

    def error(self) -> Conflict:
        """The answer to the client, in kube-apiserver's words."""
        listed = [(path, who) for who, fields in self.contested.items() for path in paths(fields)]
        listed.sort(key=lambda one: (one[0], one[1].order()))
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {who.shown()}",
                "field": path,
            }
            for path, who in listed
        ]
        if len(listed) == 1:
            path, who = listed[0]
            text = f"1 conflict: conflict with {who.shown()}: {path}"
        else:
            text = f"{len(listed)} conflicts: {self._by_owner()}"
        return Conflict(f"Apply failed with {text}", details={"causes": causes})

    def _by_owner(self) -> str:
        lines = []
        for who in sorted(self.contested, key=Identity.order):
            lines.append(f"conflicts with {who.shown()}:")
            lines += [f"- {path}" for path in paths(self.contested[who])]
        return "\n".join(lines)
