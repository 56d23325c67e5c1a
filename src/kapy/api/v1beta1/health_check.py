"""How unhealthy Machines are found and what happens to them, as v1beta1 said it."""

from typing import Annotated

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.embedded import UnhealthyMachineConditionType
from kapy.api.patterns import REPLICA_RANGE
from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules

_Timeout = Annotated[str, rules("How long it must last.", required=True, form="duration")]


class UnhealthyCondition(OldModel):
    """A condition of a Node that is a sign of ill health when it lasts."""

    type: Annotated[str, rules("The condition's type.", min_length=1)]
    status: Annotated[str, rules("The condition's bad status.", min_length=1)]
    timeout: _Timeout = "0s"


class UnhealthyMachineCondition(OldModel):
    type: Annotated[UnhealthyMachineConditionType, rules(zero="omitted")]
    status: Annotated[
        str,
        rules(enum=["True", "False", "Unknown"], zero="omitted"),
    ]
    timeout: _Timeout = "0s"


class MachineHealthCheckClass(OldModel):
    """How unhealthy Machines are treated, as a ClusterClass says it."""

    unhealthy_conditions: Annotated[
        list[UnhealthyCondition],
        rules("Conditions of the Node that make a Machine unhealthy, any of them.", max_items=100),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(
            "Conditions of the Machine that make it unhealthy, any of them.",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    max_unhealthy: Annotated[
        int | str | None,
        rules(
            "Remediation is allowed while no more Machines than this (number or percentage) are "
            "unhealthy."
        ),
    ] = None
    unhealthy_range: Annotated[
        str | None,
        rules(
            "Remediation is allowed while the number of unhealthy Machines is in this range.",
            min_length=1,
            max_length=32,
            pattern=REPLICA_RANGE,
        ),
    ] = None
    node_startup_timeout: Annotated[
        str | None,
        rules(
            "How long a Machine may take until it has a Node; 0 is without a limit.",
            form="duration",
        ),
    ] = None
    remediation_template: Annotated[
        ObjectReference | None,
        rules("A template of the objects that ask somebody else to remediate."),
    ] = None
