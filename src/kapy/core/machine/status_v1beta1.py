"""The v1beta1 conditions of a Machine (`status.deprecated.v1beta1`; pure functions).

The steps of a deletion provide their conditions (`MachineScope.legacy`); all others are computed
here from the observed objects.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kapy.api.condition import V1Beta1Condition
from kapy.api.machine import Machine
from kapy.api.machine_status import MachineV1Beta1DeprecatedStatus
from kapy.api.names_v1beta1 import V1Beta1Reason, V1Beta1Type
from kapy.conditions.lookup import FALSE, TRUE, UNKNOWN
from kapy.conditions.v1beta1 import (
    ERROR,
    INFO,
    WARNING,
    conditions_of,
    false,
    foreign_ready,
    mirror,
    set_condition,
    summary,
    true,
    unknown,
)
from kapy.contract.bootstrap import BootstrapConfig
from kapy.contract.errors import ContractError
from kapy.contract.infra_machine import InfraMachine
from kapy.contract.observed import Absent, Found, Observed, Unreadable
from kapy.core.machine.node_conditions import PRESSURES
from kapy.core.machine.scope import MachineScope
from kapy.kube import Document
from kapy.remote.cluster_cache import NotConnected

SUMMARIZED: Final = (
    V1Beta1Type.INFRASTRUCTURE_READY,
    V1Beta1Type.BOOTSTRAP_READY,
    V1Beta1Type.HEALTH_CHECK_SUCCEEDED,
    V1Beta1Type.OWNER_REMEDIATED,
    V1Beta1Type.DRAINING_SUCCEEDED,
)
COUNTED: Final = (V1Beta1Type.BOOTSTRAP_READY, V1Beta1Type.INFRASTRUCTURE_READY)


def update_v1beta1(scope: MachineScope) -> None:
    """Write conditions and terminal failures as v1beta1 has them."""
    machine, conditions = scope.machine, conditions_of(scope.machine)
    for condition in (
        bootstrap_ready(machine, scope.bootstrap),
        infrastructure_ready(machine, scope.infrastructure),
        node_healthy(machine, scope.node, scope.infrastructure),
        *scope.legacy,
    ):
        set_condition(conditions, condition, scope.now)
    set_condition(conditions, ready(machine, conditions), scope.now)
    _fail(machine, scope.bootstrap, scope.infrastructure)


def ready(machine: Machine, conditions: Iterable[V1Beta1Condition]) -> V1Beta1Condition | None:
    """Return Ready; during creation its message counts the steps."""
    making = not machine.deleting and not machine.spec.provider_id
    return summary(conditions, SUMMARIZED, counted_only=COUNTED if making else ())


def bootstrap_ready(
    machine: Machine, bootstrap: Observed[BootstrapConfig]
) -> V1Beta1Condition | None:
    """Return the condition BootstrapReady: the provider's condition, and True once there is a data
    Secret.
    """
    of = V1Beta1Type.BOOTSTRAP_READY
    if machine.spec.bootstrap.config_ref is None or not isinstance(bootstrap, Found):
        return None
    if machine.spec.bootstrap.data_secret_name is not None:
        return true(of)
    created = bool(machine.status.initialization.bootstrap_data_secret_created)
    waiting = false(of, _unless_deleting(machine, V1Beta1Reason.WAITING_FOR_DATA_SECRET), INFO)
    return mirror(foreign_ready(bootstrap.view.document), of, true(of) if created else waiting)


def infrastructure_ready(
    machine: Machine, infrastructure: Observed[InfraMachine]
) -> V1Beta1Condition | None:
    """Return the condition InfrastructureReady: the provider's condition or, without one, the state
    of provisioning.
    """
    if not isinstance(infrastructure, Found):
        return None
    try:
        provisioned = bool(infrastructure.view.provisioned)
    except ContractError:
        return None
    of = V1Beta1Type.INFRASTRUCTURE_READY
    waiting = false(of, _unless_deleting(machine, V1Beta1Reason.WAITING_FOR_INFRASTRUCTURE), INFO)
    document = infrastructure.view.document
    return mirror(foreign_ready(document), of, true(of) if provisioned else waiting)


def _unless_deleting(machine: Machine, reason: str) -> str:
    return V1Beta1Reason.DELETING if machine.deleting else reason


def node_healthy(
    machine: Machine, node: Observed[Document], infrastructure: Observed[InfraMachine]
) -> V1Beta1Condition | None:
    """Return the condition NodeHealthy; None if there is no new information about the Node."""
    of = V1Beta1Type.NODE_HEALTHY
    if not machine.spec.provider_id:
        return false(of, V1Beta1Reason.WAITING_FOR_NODE_REF, INFO)
    match node:
        case Unreadable(NotConnected()):
            return None
        case Unreadable():
            message = "Failed to get the Node for this Machine by ProviderID"
            return unknown(of, V1Beta1Reason.NODE_INSPECTION_FAILED, message)
        case Absent():
            return None if machine.deleting else _absent(machine)
        case Found(document):
            if not isinstance(infrastructure, Found) or infrastructure.view.deleting:
                return false(of, V1Beta1Reason.DELETING, INFO)
            return _summarize(document)


def _absent(machine: Machine) -> V1Beta1Condition:
    of = V1Beta1Type.NODE_HEALTHY
    if machine.status.node_ref is not None:
        return false(of, V1Beta1Reason.NODE_NOT_FOUND, ERROR)
    message = "Waiting for a node with matching ProviderID to exist"
    return false(of, V1Beta1Reason.NODE_PROVISIONING, WARNING, message)


def _summarize(node: Document) -> V1Beta1Condition:
    """Summarize the Node's conditions: False if anything is wrong, Unknown only if nothing is
    known.
    """
    of, reason = V1Beta1Type.NODE_HEALTHY, V1Beta1Reason.NODE_CONDITIONS_FAILED
    issues = [
        (condition["type"], condition.get("status"))
        for condition in (node.get("status") or {}).get("conditions") or []
        if condition.get("type") in ("Ready", *PRESSURES)
        and condition.get("status") != (TRUE if condition["type"] == "Ready" else FALSE)
    ]
    message = ". ".join(f"Node condition {type_} is {status}" for type_, status in issues)
    unknowns = sum(status == UNKNOWN for _, status in issues)
    if len(issues) > unknowns:
        return false(of, reason, WARNING, message)
    if unknowns < len(PRESSURES) + 1:
        return true(of)
    return unknown(of, reason, message)


def _fail(machine: Machine, *parts: Observed[BootstrapConfig] | Observed[InfraMachine]) -> None:
    """Copy the terminal failures of the Machine's objects; they are never unset."""
    for part in parts:
        if not isinstance(part, Found) or not _reports_failure(part.view.document):
            continue
        try:
            reason, message = part.view.failure_reason, part.view.failure_message
        except ContractError:
            continue
        if reason:
            _legacy(machine).failure_reason = reason
        if message:
            document = part.view.document
            _legacy(machine).failure_message = (
                f"Failure detected from referenced resource {document['apiVersion']}, "
                f'Kind={document["kind"]} with name "{part.view.name}": {message}'
            )
    if isinstance(parts[1], Absent):
        _fail_missing(machine)


def _reports_failure(document: Document) -> bool:
    """Return whether there is a failure to copy, which is rare."""
    status = document.get("status") or {}
    return "failureReason" in status or "failureMessage" in status


def _fail_missing(machine: Machine) -> None:
    """Set a failure for infrastructure that existed and is gone: it does not come back."""
    if machine.deleting or not machine.status.initialization.infrastructure_provisioned:
        return
    ref = machine.spec.infrastructure_ref
    _legacy(machine).failure_reason = "InvalidConfiguration"
    _legacy(machine).failure_message = (
        f"Machine infrastructure resource {ref.kind} {machine.metadata.namespace}/{ref.name} "
        "has been deleted after provisioning was completed"
    )


def _legacy(machine: Machine) -> MachineV1Beta1DeprecatedStatus:
    conditions_of(machine)
    assert machine.status.deprecated is not None
    assert machine.status.deprecated.v1beta1 is not None
    return machine.status.deprecated.v1beta1
