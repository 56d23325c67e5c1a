"""The conditions of a machine that is a container, in upstream's order and words. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.names import ConditionType, Reason
from kapy.api.names_v1beta1 import V1Beta1Reason
from kapy.sdk import conditions, v1beta1

TYPES: Final = (
    ConditionType.CGROUPS_READY,
    ConditionType.CONTAINER_PROVISIONED,
    ConditionType.PRELOADED_IMAGES_READY,
    ConditionType.BOOTSTRAP_COMPLETED,
)
_WAITS: Final[Mapping[str, str]] = {
    ConditionType.CGROUPS_READY: Reason.WAITING_FOR_CONTAINER,
    ConditionType.PRELOADED_IMAGES_READY: Reason.WAITING_FOR_CONTAINER,
    ConditionType.BOOTSTRAP_COMPLETED: Reason.WAITING_FOR_CONTAINER,
}
_WAITS_V1BETA1: Final[Mapping[str, str]] = {
    Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE_READY: (
        V1Beta1Reason.WAITING_FOR_CLUSTER_INFRASTRUCTURE
    ),
    Reason.WAITING_FOR_CONTROL_PLANE_INITIALIZED: V1Beta1Reason.WAITING_CONTROL_PLANE_INITIALIZED,
    Reason.WAITING_FOR_BOOTSTRAP_DATA: V1Beta1Reason.WAITING_FOR_BOOTSTRAP_DATA,
}

BOOT_DATA_IGNORED: Final = "BootDataIgnored"
"""The reason of the Event that names the ignored parts of boot data."""

CONTAINER_PROVISIONED: Final = conditions.true(
    ConditionType.CONTAINER_PROVISIONED, Reason.PROVISIONED
)
CGROUPS_READY: Final = conditions.true(ConditionType.CGROUPS_READY, Reason.READY)
IMAGES_READY: Final = conditions.true(ConditionType.PRELOADED_IMAGES_READY, Reason.READY)
BOOTSTRAPPED: Final = conditions.true(ConditionType.BOOTSTRAP_COMPLETED, Reason.COMPLETED)


def container_missing(reason: str, message: str = "") -> Condition:
    """Return the container is not there, or does not run."""
    return conditions.false(ConditionType.CONTAINER_PROVISIONED, reason, message)


def cgroups_not_ready(message: str) -> Condition:
    """systemd and containerd are not up in the container."""
    return conditions.false(ConditionType.CGROUPS_READY, Reason.NOT_READY, message)


def images_not_ready(message: str, reason: str = Reason.NOT_READY) -> Condition:
    """Images are not in the container yet."""
    return conditions.false(ConditionType.PRELOADED_IMAGES_READY, reason, message)


def not_bootstrapped(reason: str, message: str = "") -> Condition:
    """Boot data has not been carried out."""
    return conditions.false(ConditionType.BOOTSTRAP_COMPLETED, reason, message)


WAITING_FOR_DATA: Final = not_bootstrapped(
    Reason.WAITING_FOR_BOOTSTRAP_DATA, "The Secret of the boot data has no value yet"
)


def ignored(sections: Sequence[str]) -> str:
    """Return the message of the Event about sections of boot data that containers cannot have."""
    return (
        f"these sections of the boot data are not carried out in a container: {', '.join(sections)}"
        "; do what they are for in preKubeadmCommands, or in the node image"
    )


def complete(*reported: Condition) -> Sequence[Condition]:
    """Return all four conditions: those reported, and the others with the reason for which they
    wait."""
    by_type = {condition.type: condition for condition in reported}
    return [
        by_type.get(type_) or conditions.false(type_, _WAITS.get(type_, Reason.NOT_PROVISIONED))
        for type_ in TYPES
    ]


def for_v1beta1(reported: Sequence[Condition]) -> Sequence[V1Beta1Condition]:
    """Return the v1beta1 condition of the container.

    Upstream's v1.14 reports its first wait only, and never that this wait is over.
    """
    return [
        _in_v1beta1(condition)
        for condition in reported
        if condition.type == ConditionType.CONTAINER_PROVISIONED
    ]


def _in_v1beta1(condition: Condition) -> V1Beta1Condition:
    if condition.status == conditions.TRUE:
        return v1beta1.true(condition.type)
    if condition.reason in _WAITS_V1BETA1:
        return v1beta1.false(condition.type, _WAITS_V1BETA1[condition.reason], v1beta1.INFO)
    return v1beta1.false(condition.type, condition.reason, v1beta1.WARNING, condition.message)
