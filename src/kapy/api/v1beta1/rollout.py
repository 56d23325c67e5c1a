"""Structs and differences of v1beta1 for the rollout of worker Machines.

`strategy` of v1beta1 became `rollout`, `deletion` and `healthCheck` of v1beta2.
"""

from typing import Annotated

from kapy.api.older.difference import OldModel, Place, Row
from kapy.api.older.documents import put, value_at
from kapy.api.older.rows import add, custom
from kapy.kube import Document
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


def strategy(same_as: str) -> tuple[Row, ...]:
    """Return the rows of a part with a `strategy`. same_as: the field that describes it."""
    hint = Annotated[MachineDeploymentStrategy | None, rules(same_as=same_as)]
    return add(strategy=hint), custom(_upgrade, _downgrade)


def _upgrade(part: Document, _: Document | None, __: Place) -> None:
    """Move the parts of `strategy` to `rollout`, `deletion` and `healthCheck`."""
    strategy = part.pop("strategy", None)
    if strategy is None:
        return
    rolling_update = strategy.get("rollingUpdate") or {}
    put(part.setdefault("deletion", {}), "order", rolling_update.pop("deletePolicy", None))
    in_flight = value_at(strategy.pop("remediation", None), "maxInFlight")
    put(part.setdefault("healthCheck", {}).setdefault("remediation", {}), "maxInFlight", in_flight)
    part.setdefault("rollout", {})["strategy"] = {**strategy, "rollingUpdate": rolling_update}


def _downgrade(part: Document, _: Place) -> None:
    """Move these parts back to `strategy`; other fields of `deletion` and `healthCheck` stay."""
    strategy = part.get("rollout", {}).pop("strategy", None) or {}
    if order := part.get("deletion", {}).pop("order", None):
        strategy.setdefault("rollingUpdate", {})["deletePolicy"] = order
    health = part.get("healthCheck", {})
    in_flight = health.get("remediation", {}).pop("maxInFlight", None)
    if in_flight is not None:
        strategy["remediation"] = {"maxInFlight": in_flight}
        if not health["remediation"]:
            del health["remediation"]
    if strategy:
        part["strategy"] = strategy
