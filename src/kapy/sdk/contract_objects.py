"""The contract fields of a provider's object, and no others.

The SDK reads and writes a provider's object through these Structs; only differences are written, so
all other fields are preserved.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, ClassVar, TypeAlias, TypeVar

from msgspec import field

from kapy.api.condition import Condition
from kapy.api.embedded import APIEndpoint, FailureDomain, MachineAddress
from kapy.api.infrastructure import PoolInstance
from kapy.api.status import DeprecatedConditions
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource

FailureReason: TypeAlias = Annotated[
    str, rules("Why it has failed for good, in one word.", max_length=256)
]
FailureMessage: TypeAlias = Annotated[
    str, rules("Why it has failed for good, for people.", max_length=10240)
]


class ContractStatus(Model):
    """The status fields that all contracts share."""

    conditions: list[Condition] = field(default_factory=list)
    failure_reason: FailureReason = ""
    failure_message: FailureMessage = ""


class ContractObject(Object):
    """The contract fields of a provider's object."""

    RESOURCE: ClassVar[Resource]

    status: ContractStatus = field(default_factory=ContractStatus)


L = TypeVar("L", bound=ContractObject)


class Initialization(Model):
    """The field `status.initialization` of infrastructure. Once it is set, it is never unset."""

    provisioned: bool | None = None


class InfraMachineSpec(Model):
    provider_id: str = field(default="", name="providerID")


class InfraMachineStatus(ContractStatus):
    initialization: Initialization = field(default_factory=Initialization)
    addresses: list[MachineAddress] = field(default_factory=list)
    failure_domain: str = ""
    deprecated: DeprecatedConditions | None = None


class InfraMachineContractObject(ContractObject):
    """An infrastructure machine as its contract sees it."""

    spec: InfraMachineSpec = field(default_factory=InfraMachineSpec)
    status: InfraMachineStatus = field(default_factory=InfraMachineStatus)


class InfraMachinePoolSpec(Model):
    provider_id: str = field(default="", name="providerID")
    provider_id_list: list[str] = field(default_factory=list, name="providerIDList")


class InfraMachinePoolStatus(ContractStatus):
    """The contract's status fields of an infrastructure machine pool. ready: the field that
    upstream's core reads instead of the initialization.
    """

    initialization: Initialization = field(default_factory=Initialization)
    ready: bool = False
    replicas: int | None = None
    infrastructure_machine_kind: str = ""
    instances: list[PoolInstance] = field(default_factory=list)


class InfraMachinePoolContractObject(ContractObject):
    """The infrastructure of a MachinePool as its contract sees it."""

    spec: InfraMachinePoolSpec = field(default_factory=InfraMachinePoolSpec)
    status: InfraMachinePoolStatus = field(default_factory=InfraMachinePoolStatus)


class InfraClusterSpec(Model):
    control_plane_endpoint: APIEndpoint = field(default_factory=APIEndpoint)


class InfraClusterStatus(ContractStatus):
    initialization: Initialization = field(default_factory=Initialization)
    failure_domains: list[FailureDomain] = field(default_factory=list)
    deprecated: DeprecatedConditions | None = None


class InfraClusterContractObject(ContractObject):
    """The infrastructure of a cluster as its contract sees it."""

    spec: InfraClusterSpec = field(default_factory=InfraClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


@cache
def contract_object_of(resource: Resource, contract: type[L]) -> type[L]:
    """Return the Struct with a contract's fields for the kind of one provider."""
    return type(
        f"{resource.kind}Contract", (contract,), {"RESOURCE": resource, "__module__": __name__}
    )
