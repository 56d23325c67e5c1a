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
    """ConditionsStatus groups the conditions that v1beta2 reports."""

    conditions: Conditions = field(default_factory=list)


class ReplicasStatus(ConditionsStatus):
    """ReplicasStatus groups the conditions and numbers of replicas that v1beta2 reports."""

    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None


class MachineNamingStrategy(OldModel):
    """MachineNamingStrategy configures the names of Machines."""

    template: Annotated[
        str,
        rules(
            same_as="MachineNamingSpec.template",
            min_length=1,
            max_length=256,
        ),
    ] = ""


OldConditions = V1Beta1Conditions
"""The conditions of this version."""

V1Beta2 = Annotated[
    ConditionsStatus | None,
    rules(
        "v1beta2 groups the status fields that v1beta2 reports. They prepare clients for v1beta2."
    ),
]
V1Beta2Replicas = Annotated[
    ReplicasStatus | None,
    rules(
        "v1beta2 groups the status fields that v1beta2 reports. They prepare clients for v1beta2."
    ),
]

FailureReason = Annotated[
    str | None, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
]
FailureMessage = Annotated[
    str | None,
    rules(
        same_as="MachineSetV1Beta1DeprecatedStatus.failureMessage", min_length=1, max_length=10240
    ),
]
OldGeneration = Annotated[
    int,
    rules(
        "observedGeneration is the value of metadata.generation from which the status "
        "was computed. The status is out of date while it is smaller than "
        "metadata.generation.",
        format="int64",
    ),
]


def counter(same_as: str = "") -> msgspec.Meta:
    """A number of machines that is written even when it is zero. same_as: the field whose
    description it has, unless that of the same name in the newest version."""
    named = {"same_as": same_as} if same_as else {}
    return rules(format="int32", zero="written", **named)
