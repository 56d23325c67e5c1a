"""How unhealthy Machines are found and what happens to them, as v1beta1 said it."""

from typing import Annotated

from msgspec import field

from kapy.api.core_v1 import ObjectReference
from kapy.api.older.difference import OldModel
from kapy.api.patterns import REPLICA_RANGE
from kapy.api.unhealthy_conditions import UnhealthyMachineConditionType
from kapy.kube.model import rules

_Timeout = Annotated[
    str,
    rules(
        "timeout is the time for which the condition must have this status before the "
        "Machine is unhealthy, as a duration, for example 5m. With 0s the Machine is "
        "unhealthy at once.",
        required=True,
        form="duration",
    ),
]


class UnhealthyCondition(OldModel):
    """UnhealthyCondition is a condition status of a Node that makes the Machine of the Node
    unhealthy when it lasts.
    """

    type: Annotated[str, rules(same_as="UnhealthyNodeCondition.type", min_length=1)]
    status: Annotated[str, rules(same_as="UnhealthyNodeCondition.status", min_length=1)]
    timeout: _Timeout = "0s"


class UnhealthyMachineCondition(OldModel):
    type: Annotated[UnhealthyMachineConditionType, rules(zero="omitted")]
    status: Annotated[
        str,
        rules(enum=["True", "False", "Unknown"], zero="omitted"),
    ]
    timeout: _Timeout = "0s"


class MachineHealthCheckClass(OldModel):
    """MachineHealthCheckClass configures the MachineHealthCheck of some Machines in a
    ClusterClass.
    """

    unhealthy_conditions: Annotated[
        list[UnhealthyCondition],
        rules(same_as="HealthChecks.unhealthyNodeConditions", max_items=100),
    ] = field(default_factory=list)
    unhealthy_machine_conditions: Annotated[
        list[UnhealthyMachineCondition],
        rules(
            same_as="HealthChecks.unhealthyMachineConditions",
            min_items=1,
            max_items=100,
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
    max_unhealthy: Annotated[
        int | str | None,
        rules(
            "maxUnhealthy is the number of unhealthy Machines up to which remediation is "
            "allowed. It is an absolute number or a percentage of the selected Machines, "
            "which is rounded down. It is ignored if unhealthyRange is set. Defaults to "
            "100%."
        ),
    ] = None
    unhealthy_range: Annotated[
        str | None,
        rules(
            "unhealthyRange is the range of the number of unhealthy Machines in which "
            "remediation is allowed, for example [3-5]. Both bounds are included. It takes "
            "precedence over maxUnhealthy.",
            min_length=1,
            max_length=32,
            pattern=REPLICA_RANGE,
        ),
    ] = None
    node_startup_timeout: Annotated[
        str | None,
        rules(
            "nodeStartupTimeout is the time within which a Machine must have a Node, as a "
            "duration, for example 10m. After that it is unhealthy. With 0s there is no "
            "limit. Defaults to 10m0s.",
            form="duration",
        ),
    ] = None
    remediation_template: Annotated[
        ObjectReference | None,
        rules(same_as="Remediation.templateRef"),
    ] = None
