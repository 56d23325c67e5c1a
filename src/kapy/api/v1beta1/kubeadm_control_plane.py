"""KubeadmControlPlane(Template) in v1beta1."""

from typing import Annotated, Any, ClassVar, Final

from kapy.api import (
    kubeadm_control_plane,
    kubeadm_control_plane_machines,
    kubeadm_control_plane_rollout,
)
from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import ReadinessGates, Taints
from kapy.api.kubeadm_config import KubeadmConfigSpec
from kapy.api.older.difference import (
    Difference,
    OldModel,
    added,
    looser,
    needed,
    pointers,
    removed,
    required,
    retyped,
)
from kapy.api.older.fields import without_rules
from kapy.api.v1beta1.embedded import (
    CONDITIONS,
    FailureMessage,
    V1Beta2Replicas,
    counter,
    milestone,
)
from kapy.api.v1beta1.machines import DELETION_TIMEOUTS
from kapy.kube import Document
from kapy.kube.model import rules


class RolloutBefore(OldModel):
    """RolloutBefore lists events before which Machines are replaced."""

    certificates_expiry_days: Annotated[
        int | None,
        rules(
            same_as="KubeadmControlPlaneRolloutBeforeSpec.certificatesExpiryDays", format="int32"
        ),
    ] = None


class RollingUpdate(kubeadm_control_plane_rollout.KubeadmControlPlaneRolloutStrategyRollingUpdate):
    """RollingUpdate configures the steps of a rolling update."""

    SCHEMA: ClassVar[Document] = {}


class RolloutStrategy(OldModel):
    """RolloutStrategy selects how old Machines are replaced."""

    type: Annotated[
        str, rules(same_as="KubeadmControlPlaneRolloutStrategy.type", enum=["RollingUpdate"])
    ] = ""
    rolling_update: Annotated[
        RollingUpdate | None, rules(same_as="KubeadmControlPlaneRolloutStrategy.rollingUpdate")
    ] = None


class RemediationStrategy(OldModel):
    """RemediationStrategy configures the replacement of unhealthy control plane Machines."""

    max_retry: Annotated[
        int | None,
        rules(same_as="KubeadmControlPlaneRemediationSpec.maxRetry", format="int32"),
    ] = None
    retry_period: Annotated[
        str,
        rules(
            "retryPeriod is the time between two retries, as a duration, for example 5m. "
            "Defaults to 0s, with which the controller retries at once.",
            zero="written",
            form="duration",
        ),
    ] = "0s"
    min_healthy_period: Annotated[
        str | None,
        rules(
            "minHealthyPeriod is the time after which a failure of a replacement no longer "
            "counts as a retry, as a duration, for example 1h. Defaults to 1h.",
            form="duration",
        ),
    ] = None


class MachineNamingStrategy(kubeadm_control_plane_machines.KubeadmControlPlaneMachineNamingSpec):
    """MachineNamingStrategy configures the names of control plane Machines."""

    SCHEMA: ClassVar[Document] = {}


_ROLLOUT: Final[dict[str, Any]] = {
    "rollout_before": Annotated[
        RolloutBefore | None,
        rules("rolloutBefore lists events before which Machines are replaced by a rollout."),
    ],
    "rollout_after": Annotated[
        str | None,
        rules(
            "rolloutAfter is a time in the format of RFC 3339. Once it has passed, Machines "
            "that were created before it are replaced by a rollout, even if nothing else has "
            "changed.",
            format="date-time",
        ),
    ],
    "rollout_strategy": Annotated[
        RolloutStrategy | None,
        rules(
            "rolloutStrategy selects how old Machines are replaced. Defaults to the type "
            "RollingUpdate with a maxSurge of 1.",
            default={"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}},
        ),
    ],
    "remediation_strategy": Annotated[
        RemediationStrategy | None,
        rules(
            "remediationStrategy configures the replacement of Machines that a "
            "MachineHealthCheck has marked as unhealthy. A change is applied in place."
        ),
    ],
    "machine_naming_strategy": Annotated[
        MachineNamingStrategy | None,
        rules(
            "machineNamingStrategy configures the names of new Machines. Their bootstrap and "
            "infrastructure objects have the same names. A change is applied in place. "
            "Existing Machines keep their names."
        ),
    ],
}
_CONFIG_SPEC: Final[dict[str, Any]] = {
    "kubeadm_config_spec": Annotated[KubeadmConfigSpec, rules(required=True)]
}
_COUNTERS: Final = "KubeadmControlPlaneV1Beta1DeprecatedStatus"

DIFFERENCES: Final = (
    Difference(
        kubeadm_control_plane_machines.KubeadmControlPlaneMachineTemplate,
        removed("spec"),
        added(
            infrastructure_ref=Annotated[
                ObjectReference,
                rules(
                    same_as="KubeadmControlPlaneMachineTemplateSpec.infrastructureRef",
                    required=True,
                ),
            ],
            readiness_gates=Annotated[
                without_rules(ReadinessGates, "minItems", "description"),
                rules(same_as="KubeadmControlPlaneMachineTemplateSpec.readinessGates"),
            ],
            **DELETION_TIMEOUTS,
            taints=Taints,
        ),
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneSpec,
        removed("rollout", "remediation", "machine_naming"),
        retyped(**_CONFIG_SPEC),
        added(**_ROLLOUT),
    ),
    Difference(
        kubeadm_control_plane.LastRemediationStatus,
        removed("time"),
        required(
            timestamp=Annotated[
                str, rules(same_as="LastRemediationStatus.time", format="date-time")
            ]
        ),
        looser("retry_count"),
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneStatus,
        removed("initialization", "available_replicas", "up_to_date_replicas", "deprecated"),
        retyped(
            **CONDITIONS,
            replicas=Annotated[int, counter()],
            ready_replicas=Annotated[int, counter(same_as=f"{_COUNTERS}.readyReplicas")],
        ),
        pointers("version"),
        looser("observed_generation"),
        added(
            updated_replicas=Annotated[int, counter(same_as=f"{_COUNTERS}.updatedReplicas")],
            unavailable_replicas=Annotated[
                int, counter(same_as=f"{_COUNTERS}.unavailableReplicas")
            ],
            initialized=milestone(
                "KubeadmControlPlaneInitializationStatus.controlPlaneInitialized"
            ),
            ready=Annotated[
                bool,
                rules(
                    "ready tells whether the API server of the control plane accepts requests.",
                    zero="written",
                ),
            ],
            failure_reason=Annotated[
                str, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
            ],
            failure_message=FailureMessage,
            v1beta2=V1Beta2Replicas,
        ),
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneTemplateMachineTemplate,
        removed("spec"),
        added(**DELETION_TIMEOUTS, taints=Taints),
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneTemplateResourceSpec,
        removed("rollout", "remediation", "machine_naming"),
        pointers("machine_template"),
        retyped(**_CONFIG_SPEC),
        added(**_ROLLOUT),
    ),
    Difference(kubeadm_control_plane.KubeadmControlPlaneTemplateResource, needed("spec")),
)
