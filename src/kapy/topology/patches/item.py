"""A template in the place where a cluster uses it: the input and the result of patches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from kapy.kube import Document

INFRASTRUCTURE_REF: Final = "spec.infrastructureRef"
CONTROL_PLANE_REF: Final = "spec.controlPlaneRef"
BOOTSTRAP_REF: Final = "spec.template.spec.bootstrap.configRef"
MACHINE_INFRASTRUCTURE_REF: Final = "spec.template.spec.infrastructureRef"


class Holder(NamedTuple):
    """The object that uses a template, and the field that refers to the object created from it."""

    api_version: str
    kind: str
    namespace: str
    name: str
    field_path: str

    def document(self) -> Document:
        """Return the holder reference of a request."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "fieldPath": self.field_path,
        }


@dataclass(slots=True)
class Item:
    """A template in the place where it is used. document: its state after the patches so far
    (shared)."""

    holder: Holder
    document: Document

    @property
    def api_version(self) -> str:
        """The apiVersion of the template."""
        version: str = self.document.get("apiVersion", "")
        return version

    @property
    def kind(self) -> str:
        """The kind of the template."""
        result: str = self.document["kind"]
        return result

    def __str__(self) -> str:
        return f"{self.kind} of {self.holder.kind} {self.holder.name}"
