"""The Machines that a MachineHealthCheck watches, each with its Node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from kapy.api.machine import Machine
from kapy.api.machine_health_check import MachineHealthCheck
from kapy.api.names import Annotation, Label
from kapy.contract.observed import Absent, Found
from kapy.engine.cache import Informer
from kapy.kube import Document, Key
from kapy.kube.model import encode
from kapy.kube.selectors import LabelSelector, selector_of


@dataclass(frozen=True, slots=True)
class Target:
    """A Machine that is watched.

    document, machine: the same, both shared: read only. node: Absent when the Machine's Node is
    gone; None when it has none yet, or the cluster cannot be asked as long as it is not there.
    """

    document: Document
    machine: Machine
    node: Found[Document] | Absent | None


def targets(
    check: MachineHealthCheck,
    machines: Iterable[Document],
    typed: Callable[[Document], Machine],
    nodes: Informer[Document] | None,
) -> Iterator[Target]:
    """Of a Cluster's Machines those that the check selects and that nobody excepted from it."""
    selector = selector_with_cluster(check)
    for document in machines:
        if selector.selects(document) and not is_excepted(document):
            machine = typed(document)
            yield Target(document, machine, _node_of(machine, nodes))


def selector_with_cluster(check: MachineHealthCheck) -> LabelSelector:
    """The check's selector, which needs the Cluster's label besides."""
    selector = encode(check.spec.selector)
    labels = {**selector.get("matchLabels", {}), Label.CLUSTER_NAME: check.spec.cluster_name}
    return selector_of({**selector, "matchLabels": labels})


def is_excepted(machine: Document) -> bool:
    """Whether the Machine is paused, or not to be remediated at all."""
    annotations = machine["metadata"].get("annotations") or {}
    return Annotation.PAUSED in annotations or Annotation.SKIP_REMEDIATION in annotations


def _node_of(machine: Machine, nodes: Informer[Document] | None) -> Found[Document] | Absent | None:
    if nodes is None or machine.status.node_ref is None:
        return None
    node = nodes.raw(Key("", machine.status.node_ref.name))
    return Absent() if node is None else Found(node)
