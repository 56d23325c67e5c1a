"""Metadata that every Kubernetes object carries, as Structs, and times with microseconds
(`k8s.io/apimachinery` meta/v1).
"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar, TypeVar

from msgspec import field

from kapy.kube import Document, Key
from kapy.kube.model import Model, decode, encode
from kapy.kube.names import Resource
from kapy.kube.renamed import renamed_function


class OwnerReference(Model):
    """The owner of an object; `controller` marks the managing owner."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Model):
    """`metadata` of an object. Times are RFC 3339 strings."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    owner_references: list[OwnerReference] = field(default_factory=list)
    finalizers: list[str] = field(default_factory=list)


class Object(Model):
    """The base class of typed kinds: `metadata` plus the kind's own `spec` and `status`.

    Every concrete kind sets RESOURCE, from which `apiVersion` and `kind` follow.
    """

    RESOURCE: ClassVar[Resource]

    metadata: ObjectMeta = field(default_factory=ObjectMeta)

    @property
    def key(self) -> Key:
        return Key(self.metadata.namespace, self.metadata.name)

    @property
    def deleting(self) -> bool:
        """Report whether the object is being deleted; finalizers may still keep it."""
        return self.metadata.deletion_timestamp is not None


O = TypeVar("O", bound=Object)  # noqa: E741


def read(document: Document, kind: type[O]) -> O:
    """Return a private, typed copy of a document."""
    return decode(document, kind)


def to_document(obj: Object) -> Document:
    """Return the document of a typed object, with `apiVersion` and `kind`."""
    resource = obj.RESOURCE
    return {"apiVersion": resource.api_version, "kind": resource.kind, **encode(obj)}


written = renamed_function(to_document, "written")


def owner_reference(
    owner: Object | Document, *, controller: bool = False, block_deletion: bool | None = None
) -> OwnerReference:
    """Return a reference to `owner` for another object's `metadata.ownerReferences`."""
    if isinstance(owner, Object):
        api_version, kind = owner.RESOURCE.api_version, owner.RESOURCE.kind
        name, uid = owner.metadata.name, owner.metadata.uid
    else:
        api_version, kind = owner["apiVersion"], owner["kind"]
        name, uid = owner["metadata"]["name"], owner["metadata"]["uid"]
    return OwnerReference(
        api_version=api_version,
        kind=kind,
        name=name,
        uid=uid,
        controller=True if controller else None,
        block_owner_deletion=block_deletion,
    )


def controller_of(obj: Object) -> OwnerReference | None:
    """Return the owner reference with `controller: true`, if there is one."""
    return next((ref for ref in obj.metadata.owner_references if ref.controller), None)


def micro_time(moment: datetime) -> str:
    """Return a time in UTC as a text with microseconds (Kubernetes' MicroTime)."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
