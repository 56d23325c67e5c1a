"""The workloads that users deploy in a simulated workload cluster.

The kubelets are simulated: Pods become Ready (Pods of Jobs: Succeeded) as soon as they have a Node.
Most clusters have only kubeadm's add-ons, and Pods of the add-ons cost memory. So the simulation of
a cluster starts with the first request that lists workloads or Pods (`inventory_requests`), or with
the first workload that a user creates.
"""

from __future__ import annotations

from collections.abc import Iterable

from kapy.apiserver.controllers.workloads.pod_conditions import is_ready
from kapy.apiserver.controllers.workloads.pod_controllers import BY_TABLE
from kapy.apiserver.controllers.workloads.workloads import Workloads, controller_of
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.providers.inmemory.workload.pod_states import running_pod, stopped_pod, succeeded_pod


class SimulatedWorkloads(Workloads):
    """The workloads of one simulated cluster."""

    __slots__ = ()

    what = "a simulated cluster"

    def __init__(self, context: ServerContext) -> None:
        super().__init__(context, BY_TABLE)

    def is_schedulable(self, pod: Document) -> bool:
        """Return whether a Pod is given a Node. A Pod without a controller is not: its creator does
        that.
        """
        return super().is_schedulable(pod) and bool(controller_of(pod))

    def count_available(self, pods: Iterable[Document], owner: Document) -> int:
        """The number of Pods that are ready: `minReadySeconds` are not waited for."""
        del owner
        return sum(map(is_ready, pods))

    def bind(self, pod: Document, node: str) -> None:
        """Assign a Pod to a Node."""
        super().bind(pod, node)
        owner: Document = next(iter(pod["metadata"].get("ownerReferences") or ()), {})
        state = succeeded_pod if owner.get("kind") == "Job" else running_pod
        bound = self.latest("pods", pod)
        if bound is not None:
            self.write("pods", bound, status=state(bound, node, self.now()))

    def update_pods(self, pods: Iterable[Document]) -> None:
        """Delete the Pods of controllers whose Node is gone; end those that finalizers hold."""
        nodes = {item["metadata"]["name"] for item in self.all("nodes")}
        for pod in pods:
            node = (pod.get("spec") or {}).get("nodeName")
            if not node or not controller_of(pod):
                continue
            if node not in nodes:
                self.delete("pods", pod)
            elif "deletionTimestamp" in pod["metadata"] and _is_running(pod):
                self.write("pods", pod, status=stopped_pod(pod, self.now()))


def _is_running(pod: Document) -> bool:
    return bool((pod.get("status") or {}).get("phase") == "Running")
