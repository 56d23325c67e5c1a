"""The conditions and the phase of a Machine.

Pure: observed objects go in, the Machine's status comes out. The phases act; this module only
reports, so that the report is right even if a phase failed.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.machines import is_updating_in_place
from kapy.api.names import ConditionType, Reason
from kapy.api.template_changes import AFTER_EXPIRED, difference, rollout_after_expired
from kapy.api.times import moment, stamp
from kapy.conditions.change import set_condition
from kapy.conditions.lookup import TRUE, false, get, is_true, message_of, true, unknown
from kapy.conditions.merge import Merge, reasons
from kapy.conditions.mirror import mirror_ready
from kapy.conditions.paused import paused_condition
from kapy.conditions.priority import Priority, by_polarity
from kapy.conditions.stale import drain_delays
from kapy.conditions.summary import summary
from kapy.contract.fields import View
from kapy.contract.observed import Found, Observed, Unreadable, contract_violation
from kapy.core.machine.in_place import IN_PROGRESS
from kapy.core.machine.node_conditions import node_conditions, until_silent
from kapy.core.machine.scope import MachineScope
from kapy.core.machine.status_v1beta1 import update_v1beta1
from kapy.engine.result import DONE, Result, requeue

LONG_UPDATE: Final = timedelta(minutes=15)

READINESS: Final = (
    ConditionType.DELETING,
    ConditionType.UPDATING,
    ConditionType.BOOTSTRAP_CONFIG_READY,
    ConditionType.INFRASTRUCTURE_READY,
    ConditionType.NODE_HEALTHY,
    ConditionType.HEALTH_CHECK_SUCCEEDED,
)


def update_status(scope: MachineScope) -> Result:
    """Write the results of the phases to the Machine's status; return when it changes without an
    event.
    """
    machine, now = scope.machine, scope.now
    update_v1beta1(scope)
    for condition in (
        paused_condition(machine, scope.cluster),
        bootstrap_ready(machine, scope.bootstrap),
        infrastructure_ready(machine, scope.infrastructure),
        *node_conditions(
            scope.cluster, machine, scope.node, scope.health, now, scope.dependencies.grace
        ),
        deleting(machine, *scope.deleting),
        updating(machine, *scope.updating),
    ):
        set_condition(machine, condition, now)
    if (compared := up_to_date(scope)) is not None:
        set_condition(machine, compared, now)
    set_condition(machine, ready(scope), now)
    _set_phase(scope)
    available, again = availability(scope)
    set_condition(machine, available, now)
    return again.earlier_of(
        until_silent(scope.cluster, scope.health, now, scope.dependencies.grace)
    )


def bootstrap_ready(machine: Machine, bootstrap: Observed[View]) -> Condition:
    """Return the condition BootstrapConfigReady: the provider's condition or, without one, the
    state of the bootstrap data.
    """
    of, ref = ConditionType.BOOTSTRAP_CONFIG_READY, machine.spec.bootstrap.config_ref
    if ref is None:
        return true(of, Reason.DATA_SECRET_PROVIDED)
    created = bool(machine.status.initialization.bootstrap_data_secret_created)
    match bootstrap:
        case Found(_, problem) if problem is not None:
            return unknown(of, Reason.INTERNAL_ERROR, contract_violation(bootstrap))
        case Found(view):
            field = "status.initialization.dataSecretCreated"
            return mirror_ready(view.document, of, done=created, field=field)
        case Unreadable():
            return unknown(of, Reason.INTERNAL_ERROR, contract_violation(bootstrap))
    if machine.deleting and created:
        return false(of, Reason.OBJECT_DELETED, f"{ref.kind} has been deleted")
    return false(of, Reason.OBJECT_DOES_NOT_EXIST, f"{ref.kind} does not exist")


def infrastructure_ready(machine: Machine, infrastructure: Observed[View]) -> Condition:
    """Return the condition InfrastructureReady: the provider's condition or, without one, the state
    of provisioning.
    """
    of, kind = ConditionType.INFRASTRUCTURE_READY, machine.spec.infrastructure_ref.kind
    provisioned = bool(machine.status.initialization.infrastructure_provisioned)
    match infrastructure:
        case Found(_, problem) if problem is not None:
            return unknown(of, Reason.INTERNAL_ERROR, contract_violation(infrastructure))
        case Found(view):
            field = "status.initialization.provisioned"
            return mirror_ready(view.document, of, done=provisioned, field=field)
        case Unreadable():
            return unknown(of, Reason.INTERNAL_ERROR, contract_violation(infrastructure))
    if not provisioned:
        return false(of, Reason.OBJECT_DOES_NOT_EXIST, f"{kind} does not exist")
    removal = f"{kind} has been deleted"
    if not machine.deleting:
        removal += " while the Machine still exists"
    return false(of, Reason.OBJECT_DELETED, removal)


def deleting(machine: Machine, reason: str, message: str) -> Condition:
    """Return the Deleting condition."""
    if not machine.deleting:
        return false(ConditionType.DELETING, Reason.NOT_DELETING)
    return true(ConditionType.DELETING, reason or Reason.DELETING, message)


def updating(machine: Machine, reason: str = "", message: str = "") -> Condition:
    """Return the Updating condition, for an update in place."""
    if is_updating_in_place(machine):
        reason = reason or Reason.IN_PLACE_UPDATING
        return true(ConditionType.UPDATING, reason, message or IN_PROGRESS)
    return false(ConditionType.UPDATING, Reason.NOT_UPDATING)


def up_to_date(scope: MachineScope) -> Condition | None:
    """Return UpToDate for the Machines of MachineDeployments; None for others, whose owners set it.

    It compares the templates of the MachineSet and the MachineDeployment, as the rollout does:
    direct changes of the Machine do not count.
    """
    of, machine = ConditionType.UP_TO_DATE, scope.machine
    machine_set, deployment = scope.machine_set, scope.deployment
    if machine_set is None or deployment is None:
        return None
    result = difference(machine_set.spec.template, deployment.spec.template)
    reason = list(result.condition_messages)
    if rollout_after_expired(deployment, machine_set, scope.now):
        reason.append(AFTER_EXPIRED)
    if reason:
        return false(of, Reason.NOT_UP_TO_DATE, "\n".join(f"* {item}" for item in reason))
    conditions = machine.status.conditions
    if is_true(conditions, ConditionType.UPDATING):
        message = message_of(conditions, ConditionType.UPDATING) or IN_PROGRESS
        return false(of, Reason.UPDATING, f"* {message}")
    info = machine.status.node_info
    if info is not None and info.kubelet_version not in ("", machine.spec.version):
        message = (
            f"* Node.status.nodeInfo.kubeletVersion {info.kubelet_version}, "
            f"{machine.spec.version} required"
        )
        return false(of, Reason.UPDATING, message)
    return true(of, Reason.UP_TO_DATE)


def ready(scope: MachineScope) -> Condition:
    """Return Ready, summarized from the Machine's own conditions and its readiness gates."""
    machine = scope.machine
    gates = machine.spec.readiness_gates
    negative = [ConditionType.DELETING, ConditionType.UPDATING]
    negative += [gate.condition_type for gate in gates if gate.polarity == "Negative"]
    usual = by_polarity(negative)

    def priority(condition: Condition) -> Priority:
        # While the Machine is deleted, the absence of its objects is no issue.
        if machine.deleting and (condition.type, condition.reason) in _EXPECTED_WHILE_DELETING:
            return Priority.INFO
        return usual(condition)

    return summary(
        machine,
        ConditionType.READY,
        [*READINESS, *(gate.condition_type for gate in gates)],
        ignore_if_missing=[ConditionType.HEALTH_CHECK_SUCCEEDED],
        overrides=[_deleting_in_short(scope)] if machine.deleting else [],
        merge=Merge(
            priority=priority,
            reason=reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY),
            summary_lines=group_control_plane_lines,
        ),
    )


_EXPECTED_WHILE_DELETING: Final = frozenset(
    {
        (ConditionType.BOOTSTRAP_CONFIG_READY, Reason.OBJECT_DELETED),
        (ConditionType.BOOTSTRAP_CONFIG_READY, Reason.OBJECT_DOES_NOT_EXIST),
        (ConditionType.INFRASTRUCTURE_READY, Reason.OBJECT_DELETED),
        (ConditionType.INFRASTRUCTURE_READY, Reason.OBJECT_DOES_NOT_EXIST),
        (ConditionType.NODE_HEALTHY, Reason.NODE_DELETED),
        (ConditionType.NODE_HEALTHY, Reason.NODE_DOES_NOT_EXIST),
    }
)


def _deleting_in_short(scope: MachineScope) -> Condition:
    """Return Deleting with few different messages, so that the conditions of many Machines
    aggregate well.
    """
    machine, now = scope.machine, scope.now
    condition = get(machine.status.conditions, ConditionType.DELETING)
    message = "Machine deletion in progress"
    if condition is not None:
        message = f"{message}, stage: {condition.reason}"
        if now - moment(machine.metadata.deletion_timestamp or stamp(now)) > LONG_UPDATE:
            message = f"Machine deletion in progress since more than 15m, stage: {condition.reason}"
            if delays := drain_delays(machine, now):
                message += f", delay likely due to {', '.join(delays)}"
    return true(ConditionType.DELETING, Reason.DELETING, message)


def group_control_plane_lines(lines: list[str]) -> list[str]:
    """Merge the lines of control plane components that have the same message."""
    components = [line for line in lines if _of_component(line)]
    result = {line.partition(":")[2] for line in components}
    if len(components) < 2 or len(result) != 1:
        return lines
    grouped = [line for line in lines if line not in components[1:]]
    grouped[grouped.index(components[0])] = f"* Control plane components:{result.pop()}"
    return grouped


def _of_component(line: str) -> bool:
    name, colon, _ = line.partition(":")
    prefixes = ("* APIServer", "* ControllerManager", "* Scheduler")
    return bool(colon) and (name.startswith(prefixes) or name == "* EtcdPodHealthy")


def availability(scope: MachineScope) -> tuple[Condition, Result]:
    """Return the condition Available, which is True after a Machine has been ready for
    `spec.minReadySeconds`, and a requeue for that time.
    """
    of, machine = ConditionType.AVAILABLE, scope.machine
    condition = get(machine.status.conditions, ConditionType.READY)
    if condition is None or condition.status != TRUE:
        return false(of, Reason.NOT_READY), DONE
    least = timedelta(seconds=machine.spec.min_ready_seconds or 0)
    remaining = least - (scope.now - moment(condition.last_transition_time))
    if not least or remaining <= timedelta(0):
        return true(of, Reason.AVAILABLE), DONE
    # A timer, because no event marks the end of minReadySeconds; a clock that went back may be set
    # meanwhile.
    again = requeue(after=min(remaining, least), because="not ready for spec.minReadySeconds yet")
    return false(of, Reason.WAITING_FOR_MIN_READY_SECONDS), again


def _set_phase(scope: MachineScope) -> None:
    machine = scope.machine
    phase = phase_of(machine)
    if phase != machine.status.phase:
        machine.status.phase = phase
        machine.status.last_updated = stamp(scope.now)


def phase_of(machine: Machine) -> str:
    """Return the Machine's `status.phase`."""
    status, done = machine.status, machine.status.initialization
    phase = status.phase or "Pending"
    if done.bootstrap_data_secret_created and not done.infrastructure_provisioned:
        phase = "Provisioning"
    if machine.spec.provider_id:
        phase = "Provisioned"
    if status.node_ref is not None and done.infrastructure_provisioned:
        phase = "Running"
    if is_true(status.conditions, ConditionType.UPDATING):
        phase = "Updating"
    return "Deleting" if machine.deleting else phase
