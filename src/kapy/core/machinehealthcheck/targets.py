"""The Machines that a MachineHealthCheck selects, with their Nodes."""

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
    """A Machine that a MachineHealthCheck selects, and its Node.

    document, machine: the same object, both shared: read only. node: Absent if the Machine's Node
    is gone; None if it has none yet, or if the cluster is unreachable.
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
    """Return the selected Machines of a Cluster without those that are excluded by annotation."""
    selector = selector_with_cluster(check)
    for document in machines:
        if selector.selects(document) and not is_exempt(document):
            machine = typed(document)
            yield Target(document, machine, _node_of(machine, nodes))


def selector_with_cluster(check: MachineHealthCheck) -> LabelSelector:
    """Return the check's selector, which includes the Cluster's label."""
    selector = encode(check.spec.selector)
    labels = {**selector.get("matchLabels", {}), Label.CLUSTER_NAME: check.spec.cluster_name}
    return selector_of({**selector, "matchLabels": labels})


def is_exempt(machine: Document) -> bool:
    """Return whether the Machine is paused or excluded from remediation."""
    annotations = machine["metadata"].get("annotations") or {}
    return Annotation.PAUSED in annotations or Annotation.SKIP_REMEDIATION in annotations


def _node_of(machine: Machine, nodes: Informer[Document] | None) -> Found[Document] | Absent | None:
    if nodes is None or machine.status.node_ref is None:
        return None
    node = nodes.raw(Key("", machine.status.node_ref.name))
    return Absent() if node is None else Found(node)
