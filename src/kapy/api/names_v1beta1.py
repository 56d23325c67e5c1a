"""Names in conditions as v1beta1 has them (`status.deprecated.v1beta1.conditions`).

Spelled like their values, as in `kapy.api.names` (facts of cluster-api v1.14's
`v1beta1_condition_consts.go` and its siblings).
"""

from typing import Final


class V1Beta1Type:
    """Types of conditions."""

    API_SERVER_POD_HEALTHY: Final = "APIServerPodHealthy"
    AVAILABLE: Final = "Available"
    CERTIFICATES_AVAILABLE: Final = "CertificatesAvailable"
    CONTROL_PLANE_COMPONENTS_HEALTHY: Final = "ControlPlaneComponentsHealthy"
    CONTROLLER_MANAGER_POD_HEALTHY: Final = "ControllerManagerPodHealthy"
    DATA_SECRET_AVAILABLE: Final = "DataSecretAvailable"
    ETCD_CLUSTER_HEALTHY: Final = "EtcdClusterHealthy"
    ETCD_MEMBER_HEALTHY: Final = "EtcdMemberHealthy"
    ETCD_POD_HEALTHY: Final = "EtcdPodHealthy"
    HEALTH_CHECK_SUCCEEDED: Final = "HealthCheckSucceeded"
    MACHINES_CREATED: Final = "MachinesCreated"
    MACHINES_READY: Final = "MachinesReady"
    MACHINES_SPEC_UP_TO_DATE: Final = "MachinesSpecUpToDate"
    OWNER_REMEDIATED: Final = "OwnerRemediated"
    READY: Final = "Ready"
    RESIZED: Final = "Resized"
    SCHEDULER_POD_HEALTHY: Final = "SchedulerPodHealthy"


class V1Beta1Reason:
    """Reasons of conditions."""

    BOOTSTRAP_TEMPLATE_CLONING_FAILED: Final = "BootstrapTemplateCloningFailed"
    CERTIFICATES_CORRUPTED: Final = "CertificatesCorrupted"
    CERTIFICATES_GENERATION_FAILED: Final = "CertificatesGenerationFailed"
    CONTROL_PLANE_COMPONENTS_UNHEALTHY: Final = "ControlPlaneComponentsUnhealthy"
    CONTROL_PLANE_COMPONENTS_UNKNOWN: Final = "ControlPlaneComponentsUnknown"
    DATA_SECRET_GENERATION_FAILED: Final = "DataSecretGenerationFailed"
    DELETING: Final = "Deleting"
    ETCD_CLUSTER_UNHEALTHY: Final = "EtcdClusterUnhealthy"
    ETCD_CLUSTER_UNKNOWN: Final = "EtcdClusterUnknown"
    ETCD_MEMBER_UNHEALTHY: Final = "EtcdMemberUnhealthy"
    INFRASTRUCTURE_TEMPLATE_CLONING_FAILED: Final = "InfrastructureTemplateCloningFailed"
    MACHINE_GENERATION_FAILED: Final = "MachineGenerationFailed"
    MEMBER_INSPECTION_FAILED: Final = "MemberInspectionFailed"
    POD_FAILED: Final = "PodFailed"
    POD_INSPECTION_FAILED: Final = "PodInspectionFailed"
    POD_MISSING: Final = "PodMissing"
    POD_PROVISIONING: Final = "PodProvisioning"
    REMEDIATION_FAILED: Final = "RemediationFailed"
    REMEDIATION_IN_PROGRESS: Final = "RemediationInProgress"
    ROLLING_UPDATE_IN_PROGRESS: Final = "RollingUpdateInProgress"
    SCALING_DOWN: Final = "ScalingDown"
    SCALING_UP: Final = "ScalingUp"
    WAITING_FOR_CLUSTER_INFRASTRUCTURE: Final = "WaitingForClusterInfrastructure"
    WAITING_FOR_CONTROL_PLANE_AVAILABLE: Final = "WaitingForControlPlaneAvailable"
    WAITING_FOR_KUBEADM_INIT: Final = "WaitingForKubeadmInit"
    WAITING_FOR_REMEDIATION: Final = "WaitingForRemediation"
