"""Predict the steps of a control plane's rollout, if every Machine becomes healthy (pure
functions).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from kapy.api.cluster import Cluster
from kapy.api.embedded import ContractVersionedObjectReference
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Bootstrap, Machine, MachineSpec
from kapy.kube import Document
from kapy.kube.meta import ObjectMeta
from kapy.sdk import pick_fewest
from kapy.sdk.machine_control_plane import failure_domains, select_for_deletion

MAX_STEPS: Final = 1_000
"""The maximum number of predicted steps, more than any control plane has Machines."""


@dataclass(frozen=True, slots=True)
class Step:
    """One Machine is created (`deletes` is "") or deleted."""

    deletes: str = ""


@dataclass(slots=True)
class Forecast:
    """The predicted rollout of a control plane. outdated: the reasons for replacement, by Machine
    name. may_update_in_place: whether some Machines could be updated in place instead. steps: the
    creations and deletions of Machines, in order.
    """

    outdated: dict[str, tuple[str, ...]] = field(default_factory=dict)
    may_update_in_place: bool = False
    steps: list[Step] = field(default_factory=list)

    @property
    def creates(self) -> int:
        """The number of new Machines."""
        return sum(not step.deletes for step in self.steps)


@dataclass(frozen=True, slots=True)
class OwnedObjects:
    """The objects that belong to the Machines of a control plane, by Machine name."""

    configs: Mapping[str, KubeadmConfig]
    infrastructure: Mapping[str, Document]


def forecast(
    cluster: Cluster,
    kcp: KubeadmControlPlane,
    machines: Sequence[Machine],
    belongings: OwnedObjects,
    now: datetime,
) -> Forecast:
    """Return all steps until the desired number of Machines exists and all are up to date; at most
    `LONGEST`.
    """
    there = [item for item in machines if not item.deleting]
    result = Forecast()
    if there:
        _compare(result, kcp, there, belongings, now)
    old = [item for item in there if item.metadata.name in result.outdated]
    wanted = 1 if kcp.spec.replicas is None else kcp.spec.replicas
    domains = failure_domains(cluster)
    while (old or len(there) != wanted) and len(result.steps) < MAX_STEPS:
        if len(there) < (wanted + _max_surge(kcp) if old else wanted):
            there.append(_new(cluster, there, old, domains))
            result.steps.append(Step())
            continue
        leaving = select_for_deletion(there, old, (), domains)
        assert leaving is not None  # if there is a surplus Machine, one exists
        there = [item for item in there if item is not leaving]
        old = [item for item in old if item is not leaving]
        result.steps.append(Step(leaving.metadata.name))
    return result


def _compare(
    result: Forecast,
    kcp: KubeadmControlPlane,
    machines: Sequence[Machine],
    belongings: OwnedObjects,
    now: datetime,
) -> None:
    """Find out which Machines are outdated, and why."""
    # Imported here, because a plan of new clusters has no Machines to compare.
    from kapy.providers.kubeadm.controlplane.uptodate import outdated

    for machine in machines:
        name = machine.metadata.name
        config, infra = belongings.configs.get(name), belongings.infrastructure.get(name)
        if why := outdated(kcp, machine, config, infra, now):
            result.outdated[name] = why.messages
            result.may_update_in_place = result.may_update_in_place or why.may_be_updated


def _max_surge(kcp: KubeadmControlPlane) -> int:
    from kapy.providers.kubeadm.controlplane.loop import max_surge

    return max_surge(kcp)


def _new(
    cluster: Cluster, there: Sequence[Machine], old: Sequence[Machine], domains: Sequence[str]
) -> Machine:
    """Return a predicted Machine in its failure domain; of equal domains, the first by name."""
    leaving = {id(machine) for machine in old}
    domain = pick_fewest(
        sorted(domains),
        [machine.spec.failure_domain for machine in there],
        [machine.spec.failure_domain for machine in there if id(machine) not in leaving],
    )
    nothing = ContractVersionedObjectReference(kind="", name="", api_group="")
    return Machine(
        metadata=ObjectMeta(),
        spec=MachineSpec(
            cluster_name=cluster.metadata.name,
            bootstrap=Bootstrap(),
            infrastructure_ref=nothing,
            failure_domain=domain,
        ),
    )
