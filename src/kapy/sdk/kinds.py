"""The base Structs of an author's kinds: the fields of the contracts, and templates of kinds.

    class NimbusMachineSpec(InfraMachineSpec):
        size: Annotated[str, rules("How large it is.", enum=["small", "large"])] = "small"

    class NimbusMachineStatus(InfraMachineStatus):
        zone: Annotated[str, rules("Where it runs.")] = ""

    class NimbusMachine(Object):
        RESOURCE = resource("infrastructure.cluster.x-k8s.io", "v1alpha1", "NimbusMachine")
        COLUMNS = (Column("Zone", ".status.zone", "Where it runs"), AGE)
        spec: NimbusMachineSpec = field(default_factory=NimbusMachineSpec)
        status: NimbusMachineStatus = field(default_factory=NimbusMachineStatus)

    NimbusMachineTemplate = template_of(NimbusMachine)

The CRDs are printed from them: types, `rules(...)`, docstrings, and what `kubectl get` shows
(`COLUMNS`). The provider fills fields of the status that are its own by `status` of its answers.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import field

from kapy.api.columns import AGE, Column
from kapy.api.dev_cluster import InfraClusterStatus as _InfraClusterStatus
from kapy.api.dev_machine import DevMachineStatus
from kapy.api.dev_machine_pool import DevMachinePoolStatus
from kapy.api.embedded import APIEndpoint, TemplateMeta
from kapy.api.infrastructure import MachineProviderID, PoolProviderID, ProviderIDs
from kapy.api.status import Conditions
from kapy.kube.meta import Object
from kapy.kube.model import Model, bare_type, rules
from kapy.kube.names import Resource
from kapy.kube.plural import plural
from kapy.sdk.bootstrap_kinds import BootstrapConfigStatus as BootstrapConfigStatus
from kapy.sdk.contract_objects import FailureMessage, FailureReason

__all__ = [
    "AGE",
    "BootstrapConfigStatus",
    "Column",
    "IPPoolStatus",
    "InfraClusterSpec",
    "InfraClusterStatus",
    "InfraMachinePoolSpec",
    "InfraMachinePoolStatus",
    "InfraMachineSpec",
    "InfraMachineStatus",
    "resource",
    "template_of",
]


def resource(group: str, version: str, kind: str) -> Resource:
    """Return the resource of a kind, with the plural that core expects."""
    return Resource(group, version, plural(kind.lower()), kind)


class InfraClusterSpec(Model):
    """InfraClusterSpec is the base of the desired state of the infrastructure of a cluster."""

    control_plane_endpoint: Annotated[
        APIEndpoint,
        rules(
            "controlPlaneEndpoint is the address of the workload cluster's API server. The "
            "provider sets it, unless a user has set it. The Cluster controller copies it."
        ),
    ] = field(default_factory=APIEndpoint)


class InfraMachineSpec(Model):
    """InfraMachineSpec is the base of the desired state of the infrastructure of a machine."""

    provider_id: MachineProviderID = field(default="", name="providerID")


class InfraMachinePoolSpec(Model):
    """InfraMachinePoolSpec is the base of the desired state of the infrastructure of a pool of
    machines.
    """

    provider_id: PoolProviderID = field(default="", name="providerID")
    provider_id_list: ProviderIDs = field(default_factory=list, name="providerIDList")


class InfraClusterStatus(_InfraClusterStatus):
    """InfraClusterStatus is the base of the observed state of the infrastructure of a cluster."""

    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""


class InfraMachineStatus(DevMachineStatus):
    """InfraMachineStatus is the base of the observed state of the infrastructure of a machine."""

    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""


class InfraMachinePoolStatus(DevMachinePoolStatus):
    """InfraMachinePoolStatus is the base of the observed state of the infrastructure of a pool
    of machines.
    """

    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""


class IPPoolStatus(Model):
    """IPPoolStatus is the base of the observed state of a pool of addresses."""

    conditions: Conditions = field(default_factory=list)


def template_of(kind: type[Object]) -> type[Object]:
    """Return the kind of templates, `<Kind>Template`, for objects of a kind."""
    name, own, spec = f"{kind.__name__}Template", kind.RESOURCE, _spec_of(kind)
    inner = _struct(
        f"{name}Resource",
        f"The metadata and spec of a {own.kind} that is made of the template.",
        metadata=Annotated[TemplateMeta, rules("Labels and annotations for it.")],
        spec=Annotated[spec, rules("The spec for it.", required=True)],
    )
    outer = _struct(
        f"{name}Spec",
        "The desired content of the template.",
        template=Annotated[inner, rules(f"The template of each {own.kind}.", required=True)],
    )
    result: type[Object] = _struct(
        name,
        f"A template of {own.kind} objects.",
        resource(own.group, own.version, f"{own.kind}Template"),
        spec=Annotated[outer, rules("The template as it is wanted.")],
    )
    return result


def _spec_of(kind: type[Object]) -> Any:
    for item in msgspec.structs.fields(kind):
        if item.name == "spec":
            return bare_type(item.type)
    raise TypeError(f"{kind.__name__} has no spec, so there is nothing for a template to hold")


def _struct(name: str, doc: str, of: Resource | None = None, /, **fields: Any) -> Any:
    """Return a Struct with these fields, which are Structs and empty by default. of: the resource,
    for a kind."""
    return msgspec.defstruct(
        name,
        [(key, hint, field(default_factory=bare_type(hint))) for key, hint in fields.items()],
        bases=(Model if of is None else Object,),
        namespace={"__doc__": doc} | ({} if of is None else {"RESOURCE": of}),
        module=__name__,
        kw_only=True,
    )
