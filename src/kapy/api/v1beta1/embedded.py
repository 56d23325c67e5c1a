"""Small Structs that several kinds embed, as v1beta1 had them."""

from typing import Annotated, ClassVar

import msgspec
from msgspec import field

from kapy.api import embedded
from kapy.api.core_v1 import ObjectReference as ObjectReference
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    ReadyReplicas,
    UpToDateReplicas,
    V1Beta1Conditions,
)
from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class MachineReadinessGate(embedded.MachineReadinessGate):
    ZEROS: ClassVar[bool] = True


class MachineAddress(embedded.MachineAddress):
    ZEROS: ClassVar[bool] = True


class TemplateMeta(OldModel):
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class FailureDomain(OldModel):
    control_plane: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


class ConditionsStatus(OldModel):
    """The conditions of the version after this one."""

    conditions: Conditions = field(default_factory=list)


class ReplicasStatus(ConditionsStatus):
    """The conditions and counters of the version after this one."""

    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None


class MachineNamingStrategy(OldModel):
    """How Machines are named."""

    template: Annotated[
        str,
        rules(
            "A Go template of names, with .cluster.name, .machineSet.name and .random.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


OldConditions = V1Beta1Conditions
"""The conditions of this version."""

V1Beta2 = Annotated[ConditionsStatus | None, rules("What the version after this one reports.")]
V1Beta2Replicas = Annotated[
    ReplicasStatus | None, rules("What the version after this one reports.")
]

FailureReason = Annotated[str | None, rules("In one word, why it failed for good.")]
FailureMessage = Annotated[
    str | None,
    rules("In a sentence, why it failed for good.", min_length=1, max_length=10240),
]
OldGeneration = Annotated[
    int,
    rules("The generation of the object that the status was computed from.", format="int64"),
]


def counter(sentence: str) -> msgspec.Meta:
    """A number of machines that is written even when it is zero."""
    return rules(sentence, format="int32", zero="written")
