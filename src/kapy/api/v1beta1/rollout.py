"""How the Machines of a MachineDeployment are replaced, as v1beta1 said it."""

from typing import Annotated

from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class MachineRollingUpdateDeployment(OldModel):
    """The size of the steps of a rolling update."""

    max_unavailable: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be missing meanwhile; 0 unless said."),
    ] = None
    max_surge: Annotated[
        int | str | None,
        rules(
            "How many more Machines (number or percentage) there may be meanwhile; 1 unless said."
        ),
    ] = None
    delete_policy: Annotated[
        str | None,
        rules(
            "Which Machines go first when there are too many: Random, Newest or Oldest.",
            enum=["Random", "Newest", "Oldest"],
        ),
    ] = None


class RemediationStrategy(OldModel):
    """How unhealthy Machines are replaced."""

    max_in_flight: Annotated[
        int | str | None,
        rules("How many Machines (number or percentage) may be replaced at the same time."),
    ] = None


class MachineDeploymentStrategy(OldModel):
    """How Machines are replaced."""

    type: Annotated[
        str,
        rules(
            "Step by step (RollingUpdate) or when somebody deletes them (OnDelete).",
            enum=["RollingUpdate", "OnDelete"],
        ),
    ] = ""
    rolling_update: Annotated[
        MachineRollingUpdateDeployment | None, rules("The size of the steps of a rolling update.")
    ] = None
    remediation: Annotated[
        RemediationStrategy | None, rules("How unhealthy Machines are replaced.")
    ] = None
