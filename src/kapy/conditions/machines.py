"""Conditions that aggregate Machines, shared by all owners of Machines."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from kapy.api.condition import Condition
from kapy.api.machine import Machine
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Type
from kapy.api.times import moment
from kapy.api.wording import machines_are
from kapy.conditions import v1beta1
from kapy.conditions.aggregate import aggregate
from kapy.conditions.aggregation_input import AggregationInput
from kapy.conditions.lookup import false, has, is_false, true
from kapy.conditions.merge import Merge, reasons

YOUNG: Final = timedelta(seconds=10)


def machines_ready(
    machines: Sequence[Machine], target: str = ConditionType.MACHINES_READY
) -> Condition:
    """Aggregate the Ready conditions of Machines."""
    if not machines:
        return true(target, Reason.NO_REPLICAS)
    merge = Merge(reason=reasons(Reason.NOT_READY, Reason.READY_UNKNOWN, Reason.READY))
    return aggregate(machines, ConditionType.READY, target=target, merge=merge)


def machines_up_to_date(
    machines: AggregationInput, now: datetime, target: str = ConditionType.MACHINES_UP_TO_DATE
) -> Condition:
    """Aggregate the UpToDate conditions of Machines. New Machines that have not reported it yet do
    not count.
    """
    counted = [
        machine
        for machine in machines.representatives
        if not _is_young(machine, now) or has(machine.status.conditions, ConditionType.UP_TO_DATE)
    ]
    if not counted:
        return true(target, Reason.NO_REPLICAS)
    merge = Merge(
        reason=reasons(Reason.NOT_UP_TO_DATE, Reason.UP_TO_DATE_UNKNOWN, Reason.UP_TO_DATE)
    )
    others = {group.representative.metadata.name: group.others for group in machines.outdated}
    return aggregate(counted, ConditionType.UP_TO_DATE, target=target, merge=merge, others=others)


def remediating(machines: Sequence[Machine], unless: str) -> Condition:
    """Return the condition Remediating: which Machines are being remediated. unless: the text for
    unhealthy Machines that are not (`not to be remediated by …`).
    """
    of = ConditionType.REMEDIATING
    unhealthy = [machine for machine in machines if is_unhealthy(machine)]
    to_remediate = [machine for machine in unhealthy if is_to_be_remediated(machine)]
    if not to_remediate:
        names = [machine.metadata.name for machine in unhealthy]
        message = machines_are(names, f"not healthy ({unless})")
        return false(of, Reason.NOT_REMEDIATING, message)
    condition = aggregate(to_remediate, ConditionType.OWNER_REMEDIATED, target=of)
    return true(of, Reason.REMEDIATING, condition.message)


def is_checked(machine: Machine) -> bool:
    """Return whether a health check has reported on the Machine, in either API version."""
    deprecated = machine.status.deprecated
    status = None if deprecated is None else deprecated.v1beta1
    return has(machine.status.conditions, ConditionType.HEALTH_CHECK_SUCCEEDED) or (
        status is not None
        and v1beta1.get(status.conditions, V1Beta1Type.HEALTH_CHECK_SUCCEEDED) is not None
    )


def is_unhealthy(machine: Machine) -> bool:
    """Return whether a health check found the Machine unhealthy."""
    return is_false(machine.status.conditions, ConditionType.HEALTH_CHECK_SUCCEEDED)


def is_to_be_remediated(machine: Machine) -> bool:
    """Return whether the Machine's owner is asked to replace it."""
    return is_unhealthy(machine) and is_false(
        machine.status.conditions, ConditionType.OWNER_REMEDIATED
    )


def _is_young(machine: Machine, now: datetime) -> bool:
    timestamp = machine.metadata.creation_timestamp
    return timestamp is not None and now - moment(timestamp) <= YOUNG
