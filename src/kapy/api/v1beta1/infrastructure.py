"""What the kinds of infrastructure had in common in v1beta1."""

from typing import Annotated

from msgspec import field

from kapy.api.v1beta1.embedded import FailureDomain, MachineAddress, OldConditions, V1Beta2
from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class APIEndpoint(OldModel):
    host: Annotated[str, rules(zero="written")] = ""
    port: Annotated[int, rules(zero="written")] = 0


Ready = Annotated[
    bool,
    rules(
        "ready is true after the infrastructure has been provisioned for the first time.",
        zero="written",
    ),
]
FailureDomains = dict[str, FailureDomain]
Addresses = list[MachineAddress]
ProviderID = str | None


class InfraClusterStatus(OldModel):
    ready: Ready = False
    failure_domains: FailureDomains = field(default_factory=dict)
    conditions: OldConditions = field(default_factory=list)
    v1beta2: V1Beta2 = None
