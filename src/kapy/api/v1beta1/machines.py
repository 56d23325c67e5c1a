"""Machine and the kinds that manage Machines, as v1beta1 had them."""

from typing import Annotated, Any, Final

from kapy.api import (
    machine,
    machine_deployment,
    machine_drain_rule,
    machine_health_check,
    machine_pool,
    machine_set,
    machine_status,
)
from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import MachineAddress
from kapy.api.machine_set import DeletionOrder
from kapy.api.older.difference import (
    Difference,
    added,
    inlined,
    looser,
    mandatory,
    optional,
    pointers,
    removed,
    retyped,
    values,
)
from kapy.api.older.fields import encoded
from kapy.api.v1beta1.embedded import (
    CONDITIONS,
    FailureMessage,
    FailureReason,
    MachineNamingStrategy,
    V1Beta2,
    V1Beta2Replicas,
    counter,
    milestone,
)
from kapy.api.v1beta1.health_check import MachineHealthCheckClass
from kapy.api.v1beta1.rollout import MachineDeploymentStrategy
from kapy.kube.model import rules

DELETION_TIMEOUTS: Final[dict[str, Any]] = {
    "node_drain_timeout": Annotated[
        str | None,
        rules(
            "nodeDrainTimeout is the maximum time for draining the Node before the deletion "
            "of a Machine continues, as a duration, for example 10m. With 0s there is no "
            "limit. Defaults to 0s. A change is applied to existing Machines in place.",
            form="duration",
        ),
    ],
    "node_volume_detach_timeout": Annotated[
        str | None,
        rules(
            "nodeVolumeDetachTimeout is the maximum time for volumes to be detached from the "
            "Node before the deletion of a Machine continues, as a duration, for example "
            "10m. With 0s there is no limit. Defaults to 0s. A change is applied to existing "
            "Machines in place.",
            form="duration",
        ),
    ],
    "node_deletion_timeout": Annotated[
        str | None,
        rules(
            "nodeDeletionTimeout is the maximum time for attempts to delete the Node object "
            "after the infrastructure of a Machine is gone, as a duration, for example 10s. "
            "With 0s the controller retries without a limit. Defaults to 10s. A change is "
            "applied to existing Machines in place.",
            form="duration",
        ),
    ],
}
_MILESTONES: Final[dict[str, Any]] = {
    "bootstrap_ready": milestone("MachineInitializationStatus.bootstrapDataSecretCreated"),
    "infrastructure_ready": milestone("MachineInitializationStatus.infrastructureProvisioned"),
}
_FAILURE: Final[dict[str, Any]] = {
    "failure_reason": FailureReason,
    "failure_message": FailureMessage,
}
_MinReadySeconds = rules(same_as="MachineSpec.minReadySeconds", format="int32")
_COUNTER: Final = Annotated[int, counter()]


def _counters(status: str, *names: str) -> dict[str, Any]:
    """Return the types of counters. status: the part that groups them in the newest version."""
    return {name: Annotated[int, counter(same_as=f"{status}.{encoded(name)}")] for name in names}


DIFFERENCES: Final = (
    Difference(
        machine.MachineSpec,
        removed("min_ready_seconds", "deletion"),
        pointers("version", "provider_id", "failure_domain"),
        retyped(infrastructure_ref=ObjectReference),
        looser("readiness_gates"),
        added(**DELETION_TIMEOUTS),
    ),
    Difference(machine.Bootstrap, retyped(config_ref=ObjectReference | None)),
    Difference(
        machine_status.MachineStatus,
        removed("initialization", "failure_domain", "deprecated"),
        retyped(
            **CONDITIONS,
            node_ref=ObjectReference | None,
            phase=Annotated[
                str,
                rules(
                    enum=[
                        "Pending",
                        "Provisioning",
                        "Provisioned",
                        "Running",
                        "Deleting",
                        "Deleted",
                        "Failed",
                        "Unknown",
                    ],
                ),
            ],
            addresses=list[MachineAddress],
        ),
        looser("observed_generation"),
        added(**_FAILURE, **_MILESTONES, v1beta2=V1Beta2),
    ),
    Difference(machine.MachineTemplateSpec, optional("spec")),
    Difference(
        machine_set.MachineSetSpec,
        removed("machine_naming", "deletion"),
        optional("template"),
        added(
            min_ready_seconds=Annotated[int, _MinReadySeconds],
            delete_policy=Annotated[DeletionOrder, rules(same_as="MachineSetDeletionSpec.order")],
            machine_naming_strategy=Annotated[
                MachineNamingStrategy | None, rules(same_as="MachineSetSpec.machineNaming")
            ],
        ),
    ),
    Difference(
        machine_set.MachineSetStatus,
        removed("up_to_date_replicas", "deprecated"),
        retyped(
            **CONDITIONS,
            replicas=_COUNTER,
            **_counters(
                "MachineSetV1Beta1DeprecatedStatus", "ready_replicas", "available_replicas"
            ),
        ),
        looser("observed_generation"),
        added(
            **_counters("MachineSetV1Beta1DeprecatedStatus", "fully_labeled_replicas"),
            **_FAILURE,
            v1beta2=V1Beta2Replicas,
        ),
    ),
    Difference(
        machine_deployment.MachineDeploymentSpec,
        removed("rollout", "machine_naming", "remediation", "deletion"),
        values("paused"),
        added(
            rollout_after=Annotated[
                str | None,
                rules(same_as="MachineDeploymentRolloutSpec.after", format="date-time"),
            ],
            strategy=Annotated[
                MachineDeploymentStrategy | None,
                rules(same_as="MachineDeploymentRolloutSpec.strategy"),
            ],
            machine_naming_strategy=Annotated[
                MachineNamingStrategy | None, rules(same_as="MachineDeploymentSpec.machineNaming")
            ],
            min_ready_seconds=Annotated[int | None, _MinReadySeconds],
            revision_history_limit=Annotated[
                int | None,
                rules(
                    "revisionHistoryLimit was the number of old MachineSets that are kept. It is "
                    "deprecated and ignored.",
                    format="int32",
                ),
            ],
            progress_deadline_seconds=Annotated[
                int | None,
                rules(
                    "progressDeadlineSeconds was the maximum time in seconds for a rollout. It is "
                    "deprecated and ignored.",
                    format="int32",
                ),
            ],
        ),
    ),
    Difference(
        machine_deployment.MachineDeploymentStatus,
        removed("up_to_date_replicas", "deprecated"),
        retyped(
            **CONDITIONS,
            replicas=_COUNTER,
            **_counters(
                "MachineDeploymentV1Beta1DeprecatedStatus", "ready_replicas", "available_replicas"
            ),
        ),
        looser("observed_generation"),
        added(
            **_counters(
                "MachineDeploymentV1Beta1DeprecatedStatus",
                "updated_replicas",
                "unavailable_replicas",
            ),
            v1beta2=V1Beta2Replicas,
        ),
    ),
    Difference(
        machine_pool.MachinePoolSpec,
        looser("provider_id_list", "failure_domains"),
        added(min_ready_seconds=Annotated[int | None, _MinReadySeconds]),
    ),
    Difference(
        machine_pool.MachinePoolStatus,
        removed("initialization", "up_to_date_replicas", "deprecated"),
        retyped(
            **CONDITIONS,
            replicas=_COUNTER,
            **{
                name: Annotated[
                    int,
                    rules(
                        same_as=f"MachinePoolV1Beta1DeprecatedStatus.{encoded(name)}",
                        format="int32",
                    ),
                ]
                for name in ("ready_replicas", "available_replicas")
            },
        ),
        looser("node_refs", "observed_generation"),
        added(
            unavailable_replicas=Annotated[
                int,
                rules(
                    same_as="MachinePoolV1Beta1DeprecatedStatus.unavailableReplicas",
                    format="int32",
                ),
            ],
            **_FAILURE,
            **_MILESTONES,
            v1beta2=V1Beta2Replicas,
        ),
    ),
    Difference(
        machine_health_check.MachineHealthCheckSpec,
        removed("checks", "remediation"),
        inlined(MachineHealthCheckClass),
    ),
    Difference(
        machine_health_check.MachineHealthCheckStatus,
        removed("deprecated"),
        retyped(
            **CONDITIONS,
            **{
                name: Annotated[int, rules(format="int32", minimum=0, zero="written")]
                for name in ("expected_machines", "current_healthy", "remediations_allowed")
            },
        ),
        looser("observed_generation", "targets"),
        added(v1beta2=V1Beta2),
    ),
    Difference(machine_drain_rule.MachineDrainRuleDrainConfig),
    Difference(machine_drain_rule.MachineDrainRuleSpec),
    Difference(
        machine_drain_rule.MachineDrainRule,
        mandatory("spec"),
        schema={"required": ["metadata", "spec"]},
    ),
)
