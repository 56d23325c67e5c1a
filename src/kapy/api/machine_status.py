"""The status of a Machine."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.core_v1 import NodeSystemInfo
from kapy.api.embedded import MachineAddress
from kapy.api.patterns import DNS_SUBDOMAIN
from kapy.api.status import (
    Conditions,
    FailureMessage,
    FailureReason,
    ObservedGeneration,
    V1Beta1Conditions,
)
from kapy.kube import Document
from kapy.kube.model import Model, rules


class MachineDeletionStatus(Model):
    """MachineDeletionStatus records the progress of the deletion of a Machine."""

    node_drain_start_time: Annotated[
        str | None,
        rules(
            "nodeDrainStartTime is the time at which the drain of the Node started. "
            "nodeDrainTimeoutSeconds is measured from it.",
            format="date-time",
        ),
    ] = None
    wait_for_node_volume_detach_start_time: Annotated[
        str | None,
        rules(
            "waitForNodeVolumeDetachStartTime is the time at which the controller started to "
            "wait for volumes to be detached. nodeVolumeDetachTimeoutSeconds is measured "
            "from it.",
            format="date-time",
        ),
    ] = None
    wait_for_pre_drain_hook_start_time: Annotated[
        str | None,
        rules(
            "waitForPreDrainHookStartTime is the time at which the controller started to "
            "wait for the removal of pre-drain hook annotations.",
            format="date-time",
        ),
    ] = None
    wait_for_pre_terminate_hook_start_time: Annotated[
        str | None,
        rules(
            "waitForPreTerminateHookStartTime is the time at which the controller started to "
            "wait for the removal of pre-terminate hook annotations.",
            format="date-time",
        ),
    ] = None


class MachineV1Beta1DeprecatedStatus(Model):
    """MachineV1Beta1DeprecatedStatus groups the status fields of a Machine in v1beta1 that v1beta2
    does not have.
    """

    conditions: V1Beta1Conditions = field(default_factory=list)
    failure_reason: FailureReason = None
    failure_message: FailureMessage = None


class MachineDeprecatedStatus(Model):
    """MachineDeprecatedStatus groups the status fields of a Machine in older API versions."""

    v1beta1: Annotated[
        MachineV1Beta1DeprecatedStatus | None, rules(same_as="DeprecatedConditions.v1beta1")
    ] = None


class MachineInitializationStatus(Model):
    """MachineInitializationStatus records the milestones of the first provisioning. A milestone
    stays true once it is reached.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    infrastructure_provisioned: Annotated[
        bool | None,
        rules(
            "infrastructureProvisioned is true after the infrastructure provider has "
            "reported the infrastructure as provisioned for the first time. It stays true "
            "afterwards."
        ),
    ] = None
    bootstrap_data_secret_created: Annotated[
        bool | None,
        rules(
            "bootstrapDataSecretCreated is true after the Secret with the bootstrap data has "
            "existed for the first time. It stays true afterwards."
        ),
    ] = None


class MachineNodeReference(Model):
    """MachineNodeReference is a reference to a Node in the workload cluster."""

    name: Annotated[
        str,
        rules(
            "name is the name of the Node in the workload cluster.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class MachineStatus(Model):
    """MachineStatus is the observed state of a Machine."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    conditions: Annotated[
        Conditions,
        rules(
            "conditions are the observations of the Machine's current state. Types are "
            "Available, Ready, UpToDate, BootstrapConfigReady, InfrastructureReady, "
            "NodeReady, NodeHealthy, Updating, Deleting and Paused. A MachineHealthCheck "
            "adds HealthCheckSucceeded, OwnerRemediated and ExternallyRemediated. A "
            "KubeadmControlPlane adds APIServerPodHealthy, ControllerManagerPodHealthy, "
            "SchedulerPodHealthy, EtcdPodHealthy, EtcdMemberHealthy and "
            "NodeKubeadmLabelsAndTaintsSet. The reason of Deleting names the current step, "
            "for example WaitingForPreDrainHook, DrainingNode, WaitingForVolumeDetach, "
            "WaitingForPreTerminateHook, WaitingForInfrastructureDeletion and DeletingNode. "
            "The reason of HealthCheckSucceeded names the failed check, for example "
            "NodeStartupTimeout, UnhealthyNode and NodeDeleted."
        ),
    ] = field(default_factory=list)
    initialization: Annotated[
        MachineInitializationStatus,
        rules(
            "initialization records the milestones of the Machine's first provisioning. "
            "Controllers use them to order the provisioning of a Cluster."
        ),
    ] = field(default_factory=MachineInitializationStatus)
    node_ref: Annotated[
        MachineNodeReference | None,
        rules(
            "nodeRef is a reference to the Node of the Machine. The Machine controller sets "
            "it when a Node with the same provider ID exists.",
            zero="omitted",
        ),
    ] = None
    node_info: Annotated[
        NodeSystemInfo | None,
        rules(
            "nodeInfo is the system information that the kubelet reports in the status of the Node."
        ),
    ] = None
    last_updated: Annotated[
        str | None,
        rules(
            "lastUpdated is the time at which the phase of the Machine changed last.",
            format="date-time",
        ),
    ] = None
    addresses: Annotated[
        list[MachineAddress],
        rules(
            "addresses are the addresses of the machine. The Machine controller copies them "
            "from the object in infrastructureRef. At most 256 are stored.",
            max_items=256,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    failure_domain: Annotated[
        str,
        rules(
            "failureDomain is the name of the failure domain in which the machine runs, as "
            "the infrastructure provider reports it.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    phase: Annotated[
        str,
        rules(
            "phase summarizes the life cycle of the Machine in one word. Values are Pending, "
            "Provisioning, Provisioned, Running, Updating, Deleting, Deleted, Failed and "
            "Unknown. Programs should read the conditions instead.",
            enum=[
                "Pending",
                "Provisioning",
                "Provisioned",
                "Running",
                "Updating",
                "Deleting",
                "Deleted",
                "Failed",
                "Unknown",
            ],
        ),
    ] = ""
    certificates_expiry_date: Annotated[
        str | None,
        rules(
            "certificatesExpiryDate is the time at which the certificates of a control plane "
            "machine expire. It is not set for workers. A KubeadmControlPlane uses it to "
            "replace machines in time.",
            format="date-time",
        ),
    ] = None
    observed_generation: ObservedGeneration = 0
    deletion: Annotated[
        MachineDeletionStatus | None,
        rules(
            "deletion records the progress of the Machine's deletion. It is set while the "
            "Machine is being deleted."
        ),
    ] = None
    deprecated: Annotated[
        MachineDeprecatedStatus | None, rules(same_as="MachineHealthCheckStatus.deprecated")
    ] = None
