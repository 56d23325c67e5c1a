"""MachinePool as v1beta1 served it."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.machine_pool import FailureDomainName, Phase, ProviderID
from kapy.api.status import Versions
from kapy.api.v1beta1.embedded import (
    FailureMessage,
    FailureReason,
    OldConditions,
    OldGeneration,
    V1Beta2Replicas,
    counter,
)
from kapy.api.v1beta1.machine import MachineTemplateSpec
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube.model import rules
from kapy.kube.names import Resource


class MachinePoolSpec(OldModel, kw_only=True):
    cluster_name: Annotated[str, rules(min_length=1, max_length=63)]
    replicas: Annotated[int | None, rules(format="int32")] = None
    template: MachineTemplateSpec
    min_ready_seconds: Annotated[
        int | None,
        rules(same_as="MachineSpec.minReadySeconds", format="int32"),
    ] = None
    provider_id_list: Annotated[
        list[ProviderID],
        rules(max_items=10000),
    ] = field(default_factory=list, name="providerIDList")
    failure_domains: Annotated[
        list[FailureDomainName],
        rules(max_items=100),
    ] = field(default_factory=list)


class MachinePoolStatus(OldModel):
    node_refs: Annotated[
        list[ObjectReference],
        rules(max_items=10000),
    ] = field(default_factory=list)
    replicas: Annotated[int, counter()] = 0
    ready_replicas: Annotated[
        int, rules(same_as="MachinePoolV1Beta1DeprecatedStatus.readyReplicas", format="int32")
    ] = 0
    available_replicas: Annotated[
        int, rules(same_as="MachinePoolV1Beta1DeprecatedStatus.availableReplicas", format="int32")
    ] = 0
    unavailable_replicas: Annotated[
        int, rules(same_as="MachinePoolV1Beta1DeprecatedStatus.unavailableReplicas", format="int32")
    ] = 0
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None
    phase: Phase = ""
    bootstrap_ready: Annotated[
        bool,
        rules(same_as="MachineInitializationStatus.bootstrapDataSecretCreated", zero="written"),
    ] = False
    infrastructure_ready: Annotated[
        bool, rules(same_as="MachineInitializationStatus.infrastructureProvisioned", zero="written")
    ] = False
    observed_generation: OldGeneration = 0
    conditions: OldConditions = field(default_factory=list)
    versions: Versions = field(default_factory=list)
    v1beta2: V1Beta2Replicas = None


def _empty() -> MachinePoolSpec:
    return MachinePoolSpec(cluster_name="", template=MachineTemplateSpec())


class MachinePool(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "machinepools", "MachinePool"
    )

    spec: MachinePoolSpec = field(default_factory=_empty)
    status: MachinePoolStatus = field(default_factory=MachinePoolStatus)
