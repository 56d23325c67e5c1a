"""Declarations of how a Struct differs in an older version.

    MACHINE_SPEC = Difference(
        machine.MachineSpec,
        remove("min_ready_seconds"),
        pointers("version", "provider_id"),
        reference("infrastructure_ref"),
    )

Each row says how fields differ, and how they are converted. Fields are named as in Python. Hints
name Structs of the newest version; the derivation replaces them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.model import Model
from kapy.kube.names import GroupKind

if TYPE_CHECKING:
    from kapy.api.older.fields import Fields

ReferenceVersion: TypeAlias = Callable[[GroupKind], str]
"""The apiVersion to give a reference to a kind. Raises LookupError when it is not known."""


class ConversionError(KapyError):
    """An object cannot be converted. The message names the object and the field."""


class CannotConvert(Exception):
    """A field cannot be converted. The message gives the reason. path: the path of the field."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")


class Place(NamedTuple):
    """The position of a part (a nested Struct) in its object, for messages and references."""

    path: str
    namespace: str
    reference_version: ReferenceVersion

    def of(self, name: str) -> Place:
        """Return the place of a member of this part."""
        path = f"{self.path}.{name}" if self.path else name
        return Place(path, self.namespace, self.reference_version)


Upgrade: TypeAlias = Callable[[Document, "Document | None", Place], None]
"""Turn a part of an older version into one of the newest version, in place.

The second argument is what the part was in the newest version when the object was last converted
from it; None if that is not known.
"""
Downgrade: TypeAlias = Callable[[Document, Place], None]
"""Turn a part of the newest version into one of an older version, in place."""


class Row(NamedTuple):
    """One declared difference between an older version of a Struct and the newest version.

    shape: returns the fields of the older version. convert: returns the conversions in both
    directions, for the fields of the newest version. restores: whether the older version cannot
    express all values of the newest one, so that the conversion annotation keeps them.
    """

    shape: Callable[[Fields], Fields]
    convert: Callable[[Fields], tuple[Upgrade | None, Downgrade | None]] | None = None
    restores: bool = False


class OldModel(Model):
    """A part that only older versions have.

    Its required fields and its parts are written even when they are empty: upstream's types of
    these versions are encoded so, and converted objects are compared with them.
    """

    ZEROS: ClassVar[bool] = True


class Difference:
    """The declared differences between an older version of a Struct and the newest version.

    schema: the constraints on the whole object, which older versions rarely have.
    status_subresource: whether the older version has that subresource, although the kind has no
    status. remembers: whether the conversion annotation is written if a row needs it.
    """

    def __init__(
        self,
        newest: type[Model],
        *rows: Row,
        schema: Document | None = None,
        status_subresource: bool = False,
        remembers: bool = True,
    ) -> None:
        self.newest, self.rows, self.remembers = newest, rows, remembers
        self.constants: dict[str, Any] = {"SCHEMA": schema or {}}
        if status_subresource:
            self.constants["STATUS_SUBRESOURCE"] = True

    def apply(self, fields: Fields) -> Fields:
        """Return the fields of the older version, derived from those of the newest version."""
        for row in self.rows:
            fields = row.shape(fields)
        return fields
