"""Which Nodes a Pod may run on, and which of them it gets: what a scheduler looks at most."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.selectors import selector_of

MOST_PODS: Final = 110
"""Pods of one Node, as a kubelet has it."""
_HOSTNAME: Final = "kubernetes.io/hostname"
_FORBID: Final = ("NoSchedule", "NoExecute")
_OF_DAEMONS: Final = tuple(
    {"key": f"node.kubernetes.io/{one}", "operator": "Exists"}
    for one in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure",
                "unschedulable", "network-unavailable")
)  # fmt: skip


def accepts(node: Document, spec: Mapping[str, Any], *, daemon: bool = False) -> bool:
    """Whether a Pod with this spec may run on a Node. daemon: it is one of a DaemonSet."""
    if node["metadata"].get("deletionTimestamp"):
        return False
    own = node.get("spec") or {}
    if not daemon and (own.get("unschedulable") or not _is_ready(node)):
        return False
    tolerations = [*(spec.get("tolerations") or ()), *(_OF_DAEMONS if daemon else ())]
    for taint in own.get("taints") or ():
        if taint.get("effect") in _FORBID and not any(
            _tolerates(one, taint) for one in tolerations
        ):
            return False
    labels = node["metadata"].get("labels") or {}
    wanted = spec.get("nodeSelector") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return _has_affinity(node, spec)


class Room:
    """The Nodes, and how many Pods each has. pods: all that there are."""

    def __init__(self, nodes: Sequence[Document], pods: Iterable[Document]) -> None:
        self.nodes = nodes
        self._pods: dict[str, list[Document]] = {one["metadata"]["name"]: [] for one in nodes}
        for one in pods:
            self._add((one.get("spec") or {}).get("nodeName", ""), one)

    def choose(self, pod: Document) -> str:
        """The name of the Node that a Pod gets, the one with the fewest; "" where none fits."""
        spec = pod["spec"]
        apart = _kept_apart(pod)
        fitting = [
            (len(there), name)
            for node in self.nodes
            if accepts(node, spec)
            and len(there := self._pods[name := node["metadata"]["name"]]) < MOST_PODS
            and not (apart and any(map(apart, there)))
        ]
        name = min(fitting, default=(0, ""))[1]
        self._add(name, pod)
        return name

    def _add(self, node: str, pod: Document) -> None:
        if node in self._pods:
            self._pods[node].append(pod)


def _is_ready(node: Document) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(one.get("type") == "Ready" and one.get("status") == "True" for one in conditions)


def _tolerates(toleration: Mapping[str, Any], taint: Mapping[str, Any]) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if not toleration.get("key"):
        return bool(toleration.get("operator") == "Exists")
    if toleration["key"] != taint.get("key"):
        return False
    return toleration.get("operator") == "Exists" or toleration.get("value", "") == taint.get(
        "value", ""
    )


def _has_affinity(node: Document, spec: Mapping[str, Any]) -> bool:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    labels = node["metadata"].get("labels") or {}
    fields = {"metadata.name": node["metadata"]["name"]}
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and all(_matches(one, labels) for one in term.get("matchExpressions") or ())
        and all(_matches(one, fields) for one in term.get("matchFields") or ())
        for term in required.get("nodeSelectorTerms") or ()
    )


def _matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, wanted = labels.get(requirement.get("key", "")), requirement.get("values") or ()
    return _OPERATORS.get(requirement.get("operator", ""), _never)(value, wanted)


def _never(_: str | None, __: Sequence[str]) -> bool:
    return False


def _number(value: str | None) -> int | None:
    return int(value) if value is not None and value.lstrip("-").isdecimal() else None


def _compared(value: str | None, wanted: Sequence[str], *, greater: bool) -> bool:
    one, other = _number(value), _number(wanted[0] if wanted else None)
    if one is None or other is None:
        return False
    return one > other if greater else one < other


_OPERATORS: Final[Mapping[str, Callable[[str | None, Sequence[str]], bool]]] = {
    "In": lambda value, wanted: value in wanted,
    "NotIn": lambda value, wanted: value not in wanted,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, wanted: _compared(value, wanted, greater=True),
    "Lt": lambda value, wanted: _compared(value, wanted, greater=False),
}


def _kept_apart(pod: Document) -> Callable[[Document], bool] | None:
    """Whether another Pod is one that this one must not share a Node with; None: it shares all."""
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    namespace = pod["metadata"]["namespace"]
    terms = [
        (one.get("namespaces") or (namespace,), selector_of(one.get("labelSelector")))
        for one in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        if one.get("topologyKey") == _HOSTNAME
    ]
    if not terms:
        return None

    def is_avoided(other: Document) -> bool:
        labels = other["metadata"].get("labels") or {}
        return any(
            other["metadata"]["namespace"] in namespaces and selector.matches(labels)
            for namespaces, selector in terms
        )

    return is_avoided
