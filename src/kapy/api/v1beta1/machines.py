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
from kapy.api.older.difference import Difference, Place, Row
from kapy.api.older.documents import value_at
from kapy.api.older.durations import DURATION
from kapy.api.older.fields import camel_case
from kapy.api.older.references import reference
from kapy.api.older.rows import (
    add,
    custom,
    drop,
    inline,
    loosen,
    make_optional,
    make_required,
    move,
    pointers,
    remove,
    restore,
    retype,
    values,
    write_zeros,
)
from kapy.api.older.status import conditions, milestones
from kapy.api.v1beta1.embedded import (
    FailureMessage,
    FailureReason,
    MachineNamingStrategy,
    V1Beta2,
    V1Beta2Replicas,
    counter,
    milestone,
)
from kapy.api.v1beta1.health_check import (
    MachineHealthCheckClass,
    downgrade_checks,
    upgrade_checks,
)
from kapy.api.v1beta1.rollout import strategy
from kapy.kube import Document
from kapy.kube.model import rules

_DELETION_TIMEOUTS: Final[dict[str, Any]] = {
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


def deletion_timeouts(part: str = "deletion") -> tuple[Row, ...]:
    """Return the rows of timeouts that the newest version has in seconds, in `part`."""
    return tuple(
        move(f"{part}.{camel_case(name)}Seconds", DURATION, **{name: hint})
        for name, hint in _DELETION_TIMEOUTS.items()
    )


_MILESTONES: Final = milestones(
    bootstrap_ready=(
        "bootstrapDataSecretCreated",
        milestone("MachineInitializationStatus.bootstrapDataSecretCreated"),
    ),
    infrastructure_ready=(
        "infrastructureProvisioned",
        milestone("MachineInitializationStatus.infrastructureProvisioned"),
    ),
)
_FAILURE: Final[dict[str, Any]] = {
    "failure_reason": FailureReason,
    "failure_message": FailureMessage,
}
_COUNTER: Final = Annotated[int, counter()]


def _counters(status: str, *names: str) -> dict[str, Any]:
    """Return the annotated types of replica counters, by field name. status: the Struct that has
    these counters in v1beta2.
    """
    return {name: Annotated[int, counter(same_as=f"{status}.{camel_case(name)}")] for name in names}


COUNTERS: Final = ("ready_replicas", "available_replicas", "up_to_date_replicas")
"""Counters that have a new meaning, and in v1beta1 stand beside the new conditions."""


def _min_ready_seconds(kind: Any) -> Row:
    hint = Annotated[kind, rules(same_as="MachineSpec.minReadySeconds", format="int32")]
    return move("template.spec.minReadySeconds", min_ready_seconds=hint)


def _naming(same_as: str) -> tuple[Row, ...]:
    hint = Annotated[MachineNamingStrategy | None, rules(same_as=same_as)]
    return drop("machine_naming"), move("machineNaming", machine_naming_strategy=hint)


def _upgrade_machine(status: Document, _: Document | None, __: Place) -> None:
    if node := status.get("nodeRef"):
        status["nodeRef"] = {"name": node.get("name", "")}


def _downgrade_machine(status: Document, _: Place) -> None:
    if status.get("phase") == "Updating":
        status["phase"] = "Running"  # v1beta1 has no other phase for it
    if name := value_at(status, "nodeRef", "name"):
        status["nodeRef"] = {"kind": "Node", "name": name, "apiVersion": "v1"}


def _upgrade_remediation(spec: Document, _: Document | None, __: Place) -> None:
    spec["remediation"] = value_at(spec, "healthCheck", "remediation") or {}


def _downgrade_remediation(spec: Document, _: Place) -> None:
    spec["healthCheck"] = {"remediation": spec.get("remediation", {})}


def _upgrade_checks(spec: Document, _: Document | None, __: Place) -> None:
    upgrade_checks(spec, spec)


def _downgrade_checks(spec: Document, place: Place) -> None:
    downgrade_checks(spec, spec, place.namespace)


DIFFERENCES: Final = (
    Difference(
        machine.MachineSpec,
        remove("min_ready_seconds"),
        drop("deletion"),
        pointers("version", "provider_id", "failure_domain"),
        reference("infrastructure_ref"),
        loosen("readiness_gates"),
        *deletion_timeouts(),
    ),
    Difference(machine.Bootstrap, reference("config_ref")),
    Difference(
        machine_status.MachineStatus,
        remove("failure_domain"),
        restore("phase"),
        retype(
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
        loosen("observed_generation"),
        conditions(V1Beta2, deprecated=_FAILURE),
        _MILESTONES,
        custom(_upgrade_machine, _downgrade_machine),
    ),
    Difference(machine.MachineTemplateSpec, make_optional("spec")),
    Difference(
        machine_set.MachineSetSpec,
        drop("deletion"),
        make_optional("template"),
        _min_ready_seconds(int),
        move(
            "deletion.order",
            delete_policy=Annotated[DeletionOrder, rules(same_as="MachineSetDeletionSpec.order")],
        ),
        *_naming("MachineSetSpec.machineNaming"),
    ),
    Difference(
        machine_set.MachineSetStatus,
        retype(replicas=_COUNTER),
        loosen("observed_generation"),
        conditions(
            V1Beta2Replicas,
            deprecated=_FAILURE
            | _counters(
                "MachineSetV1Beta1DeprecatedStatus",
                "fully_labeled_replicas",
                "ready_replicas",
                "available_replicas",
            ),
            newer=COUNTERS,
            always=True,
        ),
    ),
    # Like upstream's conversion, which loses what v1beta1 cannot express.
    Difference(machine_set.MachineSet, remembers=False),
    Difference(
        machine_deployment.MachineDeploymentSpec,
        drop("rollout", "remediation", "deletion"),
        values("paused"),
        _min_ready_seconds(int | None),
        *_naming("MachineDeploymentSpec.machineNaming"),
        move(
            "rollout.after",
            rollout_after=Annotated[
                str | None,
                rules(same_as="MachineDeploymentRolloutSpec.after", format="date-time"),
            ],
        ),
        custom(None, _downgrade_remediation),
        *strategy("MachineDeploymentRolloutSpec.strategy"),
        custom(_upgrade_remediation, None),
        add(
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
        retype(replicas=_COUNTER),
        loosen("observed_generation"),
        conditions(
            V1Beta2Replicas,
            deprecated=_counters(
                "MachineDeploymentV1Beta1DeprecatedStatus",
                "updated_replicas",
                "ready_replicas",
                "available_replicas",
                "unavailable_replicas",
            ),
            newer=COUNTERS,
            always=True,
        ),
    ),
    Difference(
        machine_pool.MachinePoolSpec,
        loosen("provider_id_list", "failure_domains"),
        _min_ready_seconds(int | None),
    ),
    Difference(
        machine_pool.MachinePoolStatus,
        retype(replicas=_COUNTER),
        loosen("node_refs", "observed_generation"),
        conditions(
            V1Beta2Replicas,
            deprecated=_FAILURE
            | {
                name: Annotated[
                    int,
                    rules(
                        same_as=f"MachinePoolV1Beta1DeprecatedStatus.{camel_case(name)}",
                        format="int32",
                    ),
                ]
                for name in ("ready_replicas", "available_replicas", "unavailable_replicas")
            },
            newer=COUNTERS,
            always=True,
        ),
        _MILESTONES,
    ),
    Difference(
        machine_health_check.MachineHealthCheckSpec,
        drop("checks", "remediation"),
        inline(MachineHealthCheckClass),
        custom(_upgrade_checks, _downgrade_checks),
    ),
    Difference(
        machine_health_check.MachineHealthCheckStatus,
        values("expected_machines", "current_healthy", "remediations_allowed"),
        write_zeros("expected_machines", "current_healthy", "remediations_allowed"),
        loosen("observed_generation", "targets"),
        conditions(V1Beta2),
    ),
    Difference(machine_drain_rule.MachineDrainRuleDrainConfig),
    Difference(machine_drain_rule.MachineDrainRuleSpec),
    Difference(
        machine_drain_rule.MachineDrainRule,
        make_required("spec"),
        schema={"required": ["metadata", "spec"]},
    ),
)
