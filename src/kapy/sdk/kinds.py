"""What an author's kinds are made of: the fields that contracts ask for, and templates of kinds.

    class NimbusMachineSpec(InfraMachineSpec):
        size: Annotated[str, rules("How large it is.", enum=["small", "large"])] = "small"

    class NimbusMachine(Object):
        RESOURCE = resource("infrastructure.cluster.x-k8s.io", "v1alpha1", "NimbusMachine")
        spec: NimbusMachineSpec = field(default_factory=NimbusMachineSpec)
        status: InfraMachineStatus = field(default_factory=InfraMachineStatus)

    NimbusMachineTemplate = template_of(NimbusMachine)

The CRDs are printed from them: types, `rules(...)` and docstrings.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import field

from kapy.api.dev_cluster import InfraClusterStatus as InfraClusterStatus
from kapy.api.dev_machine import DevMachineStatus as InfraMachineStatus
from kapy.api.embedded import APIEndpoint, TemplateMeta
from kapy.api.infrastructure import MachineProviderID
from kapy.api.status import Conditions
from kapy.kube.meta import Object
from kapy.kube.model import Model, bare, rules
from kapy.kube.names import Resource
from kapy.kube.plural import plural
from kapy.sdk.bootstrap_kinds import BootstrapConfigStatus as BootstrapConfigStatus

__all__ = [
    "BootstrapConfigStatus",
    "IPPoolStatus",
    "InfraClusterSpec",
    "InfraClusterStatus",
    "InfraMachineSpec",
    "InfraMachineStatus",
    "resource",
    "template_of",
]


def resource(group: str, version: str, kind: str) -> Resource:
    """Where objects of a kind are found; its plural is the one that core looks for."""
    return Resource(group, version, plural(kind.lower()), kind)


class InfraClusterSpec(Model):
    """What the infrastructure of a cluster should be."""

    control_plane_endpoint: Annotated[
        APIEndpoint, rules("Where the cluster's API server is reached; the provider fills it in.")
    ] = field(default_factory=APIEndpoint)


class InfraMachineSpec(Model):
    """What the infrastructure of a machine should be."""

    provider_id: MachineProviderID = field(default="", name="providerID")


class IPPoolStatus(Model):
    """What was seen of a pool of addresses."""

    conditions: Conditions = field(default_factory=list)


def template_of(kind: type[Object]) -> type[Object]:
    """The kind of templates, `<Kind>Template`, that objects of a kind are made of."""
    name, own, spec = f"{kind.__name__}Template", kind.RESOURCE, _spec_of(kind)
    inner = _struct(
        f"{name}Resource",
        f"What a {own.kind} that is made of the template looks like.",
        metadata=Annotated[TemplateMeta, rules("Labels and annotations for it.")],
        spec=Annotated[spec, rules("What it should be.", required=True)],
    )
    outer = _struct(
        f"{name}Spec",
        "What the template holds.",
        template=Annotated[inner, rules(f"What each {own.kind} looks like.", required=True)],
    )
    found: type[Object] = _struct(
        name,
        f"What {own.kind} objects are made of.",
        resource(own.group, own.version, f"{own.kind}Template"),
        spec=Annotated[outer, rules("The template as it is wanted.")],
    )
    return found


def _spec_of(kind: type[Object]) -> Any:
    for one in msgspec.structs.fields(kind):
        if one.name == "spec":
            return bare(one.type)
    raise TypeError(f"{kind.__name__} has no spec, so there is nothing for a template to hold")


def _struct(name: str, doc: str, of: Resource | None = None, /, **fields: Any) -> Any:
    """A Struct whose fields are Structs, empty unless set. of: where a kind is found."""
    return msgspec.defstruct(
        name,
        [(key, hint, field(default_factory=bare(hint))) for key, hint in fields.items()],
        bases=(Model if of is None else Object,),
        namespace={"__doc__": doc} | ({} if of is None else {"RESOURCE": of}),
        module=__name__,
        kw_only=True,
    )
