"""Predicts rollouts of control planes: with kubeadm's own planner, or by assumption for other
providers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_config import KubeadmConfig
from kapy.api.kubeadm_control_plane import KubeadmControlPlane
from kapy.api.machine import Bootstrap, Machine, MachineSpec
from kapy.api.names import Label
from kapy.apps.plan.in_place import updating_handlers
from kapy.apps.plan.outcome import Outcome, ReplacedMachine, Rollout
from kapy.apps.plan.post_rollout_state import (
    foreign_status,
    planned_machine,
    rolled_out_control_plane,
)
from kapy.apps.plan.snapshot import Name, Objects, name_of
from kapy.conditions.paused import is_paused
from kapy.kube import Key
from kapy.kube.meta import ObjectMeta, to_document
from kapy.kube.model import encode
from kapy.kube.names import GroupKind
from kapy.providers.kubeadm.controlplane import forecast


def kubeadm_control_planes(objects: Objects, now: datetime) -> Iterator[Outcome]:
    """Predicted outcomes of all KubeadmControlPlanes that are not up to date, not paused and not
    being deleted."""
    for kcp in objects.all(KubeadmControlPlane):
        cluster = objects.get(Cluster, Key(kcp.metadata.namespace, _cluster_name(kcp)))
        if cluster is None or kcp.deleting or is_paused(kcp, cluster):
            continue
        machines = objects.controlled(Machine, kcp)
        belongings = _forecast_inputs(objects, machines)
        result = forecast.forecast(cluster, kcp, machines, belongings, now)
        after = rolled_out_control_plane(kcp)
        if result.steps or encode(after.status) != encode(kcp.status):
            template = _template(cluster, kcp)
            new = [planned_machine(template, kcp, number, now) for number in range(result.creates)]
            leaving = {step.deletes for step in result.steps if step.deletes}
            yield Outcome(
                _rollout(objects, kcp, result),
                [*map(to_document, new), to_document(after)],
                objects.with_owned(
                    objects.snapshot[name_of(machine)]
                    for machine in machines
                    if machine.metadata.name in leaving
                ),
            )


def foreign_control_planes(objects: Objects) -> Iterator[Outcome]:
    """Assumed outcomes of other providers' control planes that Clusters refer to."""
    for cluster in objects.all(Cluster):
        ref = cluster.spec.control_plane_ref
        if ref is None or ref.kind == KubeadmControlPlane.RESOURCE.kind:
            continue
        kind, key = GroupKind(ref.api_group, ref.kind), Key(cluster.metadata.namespace, ref.name)
        document = objects.document(Name(kind, key))
        if document is None:
            continue
        spec, status = document.get("spec") or {}, document.get("status") or {}
        if any(status.get(item) != spec.get(item) for item in ("version", "replicas")):
            rollout = Rollout(Name(kind, key), by_provider=True)
            yield Outcome(rollout, [{**document, "status": foreign_status(spec, status)}])


def _rollout(objects: Objects, kcp: KubeadmControlPlane, result: forecast.Forecast) -> Rollout:
    leaving = [step.deletes for step in result.steps if step.deletes]
    return Rollout(
        name_of(kcp),
        [
            ReplacedMachine(name, result.outdated[name])
            for name in leaving
            if name in result.outdated
        ],
        creates=result.creates,
        deletes=[name for name in leaving if name not in result.outdated],
        steps=[
            f"delete Machine {step.deletes}" if step.deletes else "create a Machine"
            for step in result.steps
        ],
        in_place=updating_handlers(objects, "CanUpdateMachine")
        if result.may_update_in_place
        else [],
    )


def _template(cluster: Cluster, kcp: KubeadmControlPlane) -> Machine:
    return Machine(
        metadata=ObjectMeta(labels={Label.CLUSTER_NAME: cluster.metadata.name}),
        spec=MachineSpec(
            cluster_name=cluster.metadata.name,
            bootstrap=Bootstrap(),
            infrastructure_ref=kcp.spec.machine_template.spec.infrastructure_ref,
            version=kcp.spec.version,
        ),
    )


def _forecast_inputs(objects: Objects, machines: Sequence[Machine]) -> forecast.OwnedObjects:
    configs, infrastructure = {}, {}
    for machine in machines:
        name, namespace = machine.metadata.name, machine.metadata.namespace
        config_ref, ref = machine.spec.bootstrap.config_ref, machine.spec.infrastructure_ref
        if config_ref is not None:
            config = objects.get(KubeadmConfig, Key(namespace, config_ref.name))
            if config is not None:
                configs[name] = config
        kind = GroupKind(ref.api_group, ref.kind)
        document = objects.document(Name(kind, Key(namespace, ref.name)))
        if document is not None:
            infrastructure[name] = document
    return forecast.OwnedObjects(configs, infrastructure)


def _cluster_name(kcp: KubeadmControlPlane) -> str:
    owners = (
        reference.name for reference in kcp.metadata.owner_references if reference.kind == "Cluster"
    )
    return next(owners, kcp.metadata.labels.get(Label.CLUSTER_NAME, ""))
