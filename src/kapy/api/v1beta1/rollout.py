"""How the Machines of a MachineDeployment are replaced, as v1beta1 said it."""

from typing import Annotated

from kapy.api.older.difference import OldModel
from kapy.kube.model import rules


class MachineRollingUpdateDeployment(OldModel):
    """MachineRollingUpdateDeployment configures the steps of a rolling update."""

    max_unavailable: Annotated[
        int | str | None,
        rules(same_as="MachineDeploymentRolloutStrategyRollingUpdate.maxUnavailable"),
    ] = None
    max_surge: Annotated[
        int | str | None,
        rules(same_as="MachineDeploymentRolloutStrategyRollingUpdate.maxSurge"),
    ] = None
    delete_policy: Annotated[
        str | None,
        rules(
            same_as="MachineSetDeletionSpec.order",
            enum=["Random", "Newest", "Oldest"],
        ),
    ] = None


class RemediationStrategy(OldModel):
    """RemediationStrategy configures the replacement of unhealthy Machines."""

    max_in_flight: Annotated[
        int | str | None,
        rules(same_as="MachineDeploymentRemediationSpec.maxInFlight"),
    ] = None


class MachineDeploymentStrategy(OldModel):
    """MachineDeploymentStrategy selects how old Machines are replaced."""

    type: Annotated[
        str,
        rules(
            same_as="MachineDeploymentRolloutStrategy.type",
            enum=["RollingUpdate", "OnDelete"],
        ),
    ] = ""
    rolling_update: Annotated[
        MachineRollingUpdateDeployment | None,
        rules(same_as="MachineDeploymentRolloutStrategy.rollingUpdate"),
    ] = None
    remediation: Annotated[
        RemediationStrategy | None, rules(same_as="MachineDeploymentSpec.remediation")
    ] = None
