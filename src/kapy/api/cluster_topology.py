"""A Cluster's managed topology: what is to be made of a ClusterClass."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from kapy.api.embedded import (
    MachineHealthCheckRemediationTemplateReference,
    MachineReadinessGate,
    MachineTaint,
    TemplateMeta,
    UnhealthyMachineCondition,
    UnhealthyNodeCondition,
)
from kapy.api.patterns import DNS_LABEL, DNS_SUBDOMAIN, REPLICA_RANGE
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClusterClassRef(Model):
    name: Annotated[str, rules(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]
    namespace: Annotated[str, rules(min_length=1, max_length=63, pattern=DNS_LABEL)] = ""


class ClusterVariable(Model):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    value: Any


class ControlPlaneTopologyHealthCheckChecks(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_startup_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    unhealthy_node_conditions: Annotated[
        list[UnhealthyNodeCondition],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class ControlPlaneTopologyHealthCheckRemediationTriggerIf(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    unhealthy_less_than_or_equal_to: int | str | None = None
    unhealthy_in_range: Annotated[
        str, rules(min_length=1, max_length=32, pattern=REPLICA_RANGE)
    ] = ""


class ControlPlaneTopologyHealthCheckRemediation(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    trigger_if: ControlPlaneTopologyHealthCheckRemediationTriggerIf = field(
        default_factory=ControlPlaneTopologyHealthCheckRemediationTriggerIf
    )
    template_ref: MachineHealthCheckRemediationTemplateReference | None = None


class ControlPlaneTopologyHealthCheck(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: bool | None = None
    checks: ControlPlaneTopologyHealthCheckChecks = field(
        default_factory=ControlPlaneTopologyHealthCheckChecks
    )
    remediation: ControlPlaneTopologyHealthCheckRemediation = field(
        default_factory=ControlPlaneTopologyHealthCheckRemediation
    )


class ControlPlaneTopologyMachineDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    node_volume_detach_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = (
        None
    )
    node_deletion_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class ControlPlaneTopologyRolloutSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[str | None, rules(format="date-time")] = None


class ControlPlaneVariables(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    overrides: Annotated[
        list[ClusterVariable],
        rules(
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


class ControlPlaneTopology(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    replicas: Annotated[int | None, rules(format="int32")] = None
    rollout: ControlPlaneTopologyRolloutSpec = field(
        default_factory=ControlPlaneTopologyRolloutSpec
    )
    health_check: ControlPlaneTopologyHealthCheck = field(
        default_factory=ControlPlaneTopologyHealthCheck
    )
    deletion: ControlPlaneTopologyMachineDeletionSpec = field(
        default_factory=ControlPlaneTopologyMachineDeletionSpec
    )
    taints: Annotated[
        list[MachineTaint],
        rules(
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)
    readiness_gates: Annotated[
        list[MachineReadinessGate],
        rules(
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    variables: ControlPlaneVariables = field(default_factory=ControlPlaneVariables)


class MachineDeploymentTopologyHealthCheckChecks(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_startup_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    unhealthy_node_conditions: Annotated[
        list[UnhealthyNodeCondition],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)


class MachineDeploymentTopologyHealthCheckRemediationTriggerIf(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    unhealthy_less_than_or_equal_to: int | str | None = None
    unhealthy_in_range: Annotated[
        str, rules(min_length=1, max_length=32, pattern=REPLICA_RANGE)
    ] = ""


class MachineDeploymentTopologyHealthCheckRemediation(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_in_flight: int | str | None = None
    trigger_if: MachineDeploymentTopologyHealthCheckRemediationTriggerIf = field(
        default_factory=MachineDeploymentTopologyHealthCheckRemediationTriggerIf
    )
    template_ref: MachineHealthCheckRemediationTemplateReference | None = None


class MachineDeploymentTopologyHealthCheck(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    enabled: bool | None = None
    checks: MachineDeploymentTopologyHealthCheckChecks = field(
        default_factory=MachineDeploymentTopologyHealthCheckChecks
    )
    remediation: MachineDeploymentTopologyHealthCheckRemediation = field(
        default_factory=MachineDeploymentTopologyHealthCheckRemediation
    )


class MachineDeploymentTopologyMachineDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: Annotated[str, rules(enum=["Random", "Newest", "Oldest"])] = ""
    node_drain_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    node_volume_detach_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = (
        None
    )
    node_deletion_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class MachineDeploymentTopologyRolloutStrategyRollingUpdate(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    max_unavailable: int | str | None = None
    max_surge: int | str | None = None


class MachineDeploymentTopologyRolloutStrategy(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    type: Annotated[str, rules(enum=["RollingUpdate", "OnDelete"])]
    rolling_update: MachineDeploymentTopologyRolloutStrategyRollingUpdate = field(
        default_factory=MachineDeploymentTopologyRolloutStrategyRollingUpdate
    )


class MachineDeploymentTopologyRolloutSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    after: Annotated[str | None, rules(format="date-time")] = None
    strategy: MachineDeploymentTopologyRolloutStrategy | None = None


class MachineDeploymentVariables(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    overrides: Annotated[
        list[ClusterVariable],
        rules(
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


class MachineDeploymentTopology(Model):
    class_: Annotated[str, rules(min_length=1, max_length=256)]
    name: Annotated[str, rules(min_length=1, max_length=63, pattern=DNS_SUBDOMAIN)]
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    failure_domain: Annotated[str, rules(min_length=1, max_length=256)] = ""
    replicas: Annotated[int | None, rules(format="int32")] = None
    health_check: MachineDeploymentTopologyHealthCheck = field(
        default_factory=MachineDeploymentTopologyHealthCheck
    )
    deletion: MachineDeploymentTopologyMachineDeletionSpec = field(
        default_factory=MachineDeploymentTopologyMachineDeletionSpec
    )
    taints: Annotated[
        list[MachineTaint],
        rules(
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)
    min_ready_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    readiness_gates: Annotated[
        list[MachineReadinessGate],
        rules(
            min_items=1,
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["conditionType"],
        ),
    ] = field(default_factory=list)
    rollout: MachineDeploymentTopologyRolloutSpec = field(
        default_factory=MachineDeploymentTopologyRolloutSpec
    )
    variables: MachineDeploymentVariables = field(default_factory=MachineDeploymentVariables)


class MachinePoolTopologyMachineDeletionSpec(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    node_drain_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    node_volume_detach_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = (
        None
    )
    node_deletion_timeout_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None


class MachinePoolVariables(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    overrides: Annotated[
        list[ClusterVariable],
        rules(
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


class MachinePoolTopology(Model):
    class_: Annotated[str, rules(min_length=1, max_length=256)]
    name: Annotated[str, rules(min_length=1, max_length=63, pattern=DNS_SUBDOMAIN)]
    metadata: TemplateMeta = field(default_factory=TemplateMeta)
    failure_domains: Annotated[
        list[Annotated[str, rules(min_length=1, max_length=256)]],
        rules(min_items=1, max_items=100, x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
    deletion: MachinePoolTopologyMachineDeletionSpec = field(
        default_factory=MachinePoolTopologyMachineDeletionSpec
    )
    taints: Annotated[
        list[MachineTaint],
        rules(
            min_items=1,
            max_items=64,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["key", "effect"],
        ),
    ] = field(default_factory=list)
    min_ready_seconds: Annotated[int | None, rules(format="int32", minimum=0)] = None
    replicas: Annotated[int | None, rules(format="int32")] = None
    variables: MachinePoolVariables = field(default_factory=MachinePoolVariables)


class WorkersTopology(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    machine_deployments: Annotated[
        list[MachineDeploymentTopology],
        rules(
            min_items=1,
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
    machine_pools: Annotated[
        list[MachinePoolTopology],
        rules(
            min_items=1,
            max_items=2000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)


class Topology(Model):
    class_ref: ClusterClassRef
    version: Annotated[str, rules(min_length=1, max_length=256)]
    control_plane: ControlPlaneTopology = field(default_factory=ControlPlaneTopology)
    workers: WorkersTopology = field(default_factory=WorkersTopology)
    variables: Annotated[
        list[ClusterVariable],
        rules(
            min_items=1,
            max_items=1000,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["name"],
        ),
    ] = field(default_factory=list)
