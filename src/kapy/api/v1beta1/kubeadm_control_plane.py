"""KubeadmControlPlane(Template) in v1beta1."""

from typing import Annotated, Any, ClassVar, Final

from kapy.api import (
    kubeadm_control_plane,
    kubeadm_control_plane_machines,
)
from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import ReadinessGates, Taints
from kapy.api.kubeadm_config import KubeadmConfigSpec
from kapy.api.older.difference import Difference, OldModel, Place, Row
from kapy.api.older.documents import int_to_pointer, put, value_at
from kapy.api.older.durations import duration, seconds
from kapy.api.older.fields import without_rules
from kapy.api.older.references import contract_reference, object_reference
from kapy.api.older.rows import (
    add,
    add_required,
    custom,
    drop,
    loosen,
    move,
    pointers,
    require_in_schema,
    retype,
)
from kapy.api.older.status import conditions, milestones
from kapy.api.v1beta1.embedded import (
    FailureMessage,
    V1Beta2Replicas,
    counter,
    milestone,
)
from kapy.api.v1beta1.machines import COUNTERS, deletion_timeouts
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


class RollingUpdate(kubeadm_control_plane_machines.KubeadmControlPlaneRolloutStrategyRollingUpdate):
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
}
_NAMING: Final[dict[str, Any]] = {
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
_DEPRECATED: Final = "KubeadmControlPlaneV1Beta1DeprecatedStatus"
_PARTS: Final = {
    "rolloutBefore": "before",
    "rolloutAfter": "after",
    "rolloutStrategy": "strategy",
}


def _upgrade_reference(machines: Document, _: Document | None, place: Place) -> None:
    path = place.of("infrastructureRef").path
    machines.setdefault("spec", {}).update(
        infrastructureRef=contract_reference(machines.pop("infrastructureRef"), path),
        readinessGates=machines.pop("readinessGates", []),
    )


def _downgrade_reference(machines: Document, place: Place) -> None:
    spec = machines.get("spec", {})
    if reference := spec.pop("infrastructureRef", None):
        machines["infrastructureRef"] = object_reference(reference, place.of("infrastructureRef"))
    put(machines, "readinessGates", spec.pop("readinessGates", None))


def _upgrade_spec(spec: Document, memory: Document | None, _: Place) -> None:
    rollout: Document = {}
    for old, new in _PARTS.items():
        put(rollout, new, spec.pop(old, None))
    spec["rollout"] = rollout
    if remediation := spec.pop("remediationStrategy", None):
        before = value_at(memory, "remediation", "retryPeriodSeconds")
        spec["remediation"] = _upgraded_remediation(remediation, before)


def _downgrade_spec(spec: Document, _: Place) -> None:
    rollout = spec.pop("rollout", {})
    for old, new in _PARTS.items():
        put(spec, old, rollout.get(new))
    if remediation := spec.pop("remediation", None):
        spec["remediationStrategy"] = _downgraded_remediation(remediation)


def _upgraded_remediation(strategy: Document, former: int | None) -> Document:
    remediation: Document = {}
    put(remediation, "maxRetry", strategy.get("maxRetry"))
    if (period := strategy["retryPeriod"]) == "0s":
        put(remediation, "retryPeriodSeconds", int_to_pointer(0, former))
    else:
        remediation["retryPeriodSeconds"] = seconds(period)
    if (period := strategy.get("minHealthyPeriod")) is not None:
        remediation["minHealthyPeriodSeconds"] = seconds(period)
    return remediation


def _downgraded_remediation(remediation: Document) -> Document:
    strategy: Document = {}
    put(strategy, "maxRetry", remediation.get("maxRetry"))
    for name in ("retryPeriod", "minHealthyPeriod"):
        if (value := remediation.get(f"{name}Seconds")) is not None:
            strategy[name] = duration(value)
    return strategy


def _downgrade_ready(status: Document, _: Place) -> None:
    status["ready"] = status.get("readyReplicas", 0) > 0


def _upgrade_remediated(last: Document, _: Document | None, __: Place) -> None:
    last["time"] = last.pop("timestamp")


def _downgrade_remediated(last: Document, _: Place) -> None:
    put(last, "timestamp", last.pop("time", None))


def _upgrade_template_spec(spec: Document, _: Document | None, __: Place) -> None:
    if (strategy := spec["rollout"].get("strategy")) is not None:
        # No other value ever existed, and old templates lack the field.
        strategy["type"] = strategy.get("type") or "RollingUpdate"


def _downgrade_template_spec(spec: Document, _: Place) -> None:
    spec.setdefault("machineTemplate", {})


def _downgrade_control_plane(control_plane: Document, _: Place) -> None:
    control_plane.setdefault("spec", {}).setdefault("machineTemplate", {})


def _downgrade_template(template: Document, _: Place) -> None:
    template.setdefault("spec", {}).setdefault("template", {}).setdefault("spec", {})


_MACHINES: Final[tuple[Row, ...]] = (
    drop("spec"),
    *deletion_timeouts("spec.deletion"),
    move("spec.taints", taints=Taints),
)
_SPEC: Final[tuple[Row, ...]] = (
    drop("rollout", "remediation", "machine_naming"),
    retype(**_CONFIG_SPEC),
    move("machineNaming", **_NAMING),
    add(**_ROLLOUT),
    custom(_upgrade_spec, _downgrade_spec, restores=True),
)

DIFFERENCES: Final = (
    Difference(
        kubeadm_control_plane_machines.KubeadmControlPlaneMachineTemplate,
        *_MACHINES,
        add(
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
        ),
        custom(_upgrade_reference, _downgrade_reference),
    ),
    Difference(kubeadm_control_plane.KubeadmControlPlaneSpec, *_SPEC),
    Difference(
        kubeadm_control_plane.LastRemediationStatus,
        drop("time"),
        add_required(
            timestamp=Annotated[
                str, rules(same_as="LastRemediationStatus.time", format="date-time")
            ]
        ),
        loosen("retry_count"),
        custom(_upgrade_remediated, _downgrade_remediated),
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneStatus,
        retype(replicas=Annotated[int, counter()]),
        pointers("version"),
        loosen("observed_generation"),
        conditions(
            V1Beta2Replicas,
            deprecated={
                "updated_replicas": Annotated[int, counter(f"{_DEPRECATED}.updatedReplicas")],
                "ready_replicas": Annotated[int, counter(f"{_DEPRECATED}.readyReplicas")],
                "unavailable_replicas": Annotated[
                    int, counter(f"{_DEPRECATED}.unavailableReplicas")
                ],
                "failure_reason": Annotated[
                    str, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
                ],
                "failure_message": FailureMessage,
            },
            newer=COUNTERS,
            always=True,
        ),
        milestones(
            initialized=(
                "controlPlaneInitialized",
                milestone("KubeadmControlPlaneInitializationStatus.controlPlaneInitialized"),
            )
        ),
        add(
            ready=Annotated[
                bool,
                rules(
                    "ready tells whether the API server of the control plane accepts requests.",
                    zero="written",
                ),
            ],
        ),
        custom(None, _downgrade_ready),
    ),
    Difference(kubeadm_control_plane.KubeadmControlPlane, custom(None, _downgrade_control_plane)),
    Difference(kubeadm_control_plane.KubeadmControlPlaneTemplateMachineTemplate, *_MACHINES),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneTemplateResourceSpec,
        *_SPEC,
        pointers("machine_template"),
        custom(_upgrade_template_spec, _downgrade_template_spec),
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneTemplateResource, require_in_schema("spec")
    ),
    Difference(
        kubeadm_control_plane.KubeadmControlPlaneTemplate, custom(None, _downgrade_template)
    ),
)
