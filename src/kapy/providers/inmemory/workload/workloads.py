"""The workloads that users deploy in a simulated workload cluster, and the statuses of their Pods.

The kubelets are simulated: Pods become Ready (Pods of Jobs: Succeeded) as soon as they have a Node.
Most clusters have only kubeadm's add-ons, and Pods of the add-ons cost memory. So the simulation of
a cluster starts with the first request that lists workloads or Pods (`inventory_requests`), or with
the first workload that a user creates.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Final

from kapy.apiserver.controllers.workloads.pod_conditions import is_ready
from kapy.apiserver.controllers.workloads.pod_controllers import BY_TABLE
from kapy.apiserver.controllers.workloads.workloads import Workloads, controller_of
from kapy.apiserver.verbs.context import ServerContext
from kapy.kube import Document
from kapy.providers.inmemory.workload.nodes import address_of

_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def running_pod(pod: Document, node: str, now: str) -> Document:
    """Return the status of a Pod that has been running and ready since `now`."""
    states = [
        _container(container, {"running": {"startedAt": now}}, ready=True)
        for container in pod["spec"].get("containers") or ()
    ]
    conditions = [_condition(condition, "True", now) for condition in _CONDITIONS]
    return {**_placement(pod, node, now), "phase": "Running", "conditions": conditions} | {
        "containerStatuses": states
    }


def succeeded_pod(pod: Document, node: str, now: str) -> Document:
    """Return the status of a Pod whose containers have all ended with exit code 0."""
    ended = {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now}}
    ended["terminated"]["finishedAt"] = now
    states = [
        _container(container, ended, ready=False)
        for container in pod["spec"].get("containers") or ()
    ]
    conditions = [
        _condition(condition, "False" if "Ready" in condition else "True", now, "PodCompleted")
        for condition in _CONDITIONS
    ]
    return {**_placement(pod, node, now), "phase": "Succeeded", "conditions": conditions} | {
        "containerStatuses": states
    }


def stopped_pod(pod: Document, now: str) -> Document:
    """Return the state of a container that ended because its Pod is being deleted."""
    before = pod.get("status") or {}
    after = succeeded_pod(pod, pod["spec"]["nodeName"], before.get("startTime") or now)
    types = {condition["type"] for condition in after["conditions"]}
    more = [
        condition for condition in before.get("conditions") or () if condition["type"] not in types
    ]
    return {**before, **after, "conditions": [*after["conditions"], *more]}


def address_of_pod(uid: str) -> str:
    """Return the address of a Pod in 192.168.0.0/16, computed from its UID."""
    a, b = blake2b(uid.encode(), digest_size=2).digest()
    return f"192.168.{a}.{b}"


def _placement(pod: Document, node: str, now: str) -> Document:
    address = address_of(node)
    own = address if pod["spec"].get("hostNetwork") else address_of_pod(pod["metadata"]["uid"])
    return {
        "hostIP": address,
        "hostIPs": [{"ip": address}],
        "podIP": own,
        "podIPs": [{"ip": own}],
        "qosClass": (pod.get("status") or {}).get("qosClass", "BestEffort"),
        "startTime": now,
    }


def _container(container: Document, state: Document, *, ready: bool) -> Document:
    return {
        "name": container["name"],
        "image": container.get("image", ""),
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }


def _condition(type_: str, status: str, now: str, reason: str = "") -> Document:
    result: Document = {"type": type_, "status": status, "lastTransitionTime": now}
    if reason and status == "False":
        result["reason"] = reason
    return result


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
        """Return the number of Pods that are ready: `minReadySeconds` are not waited for."""
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
