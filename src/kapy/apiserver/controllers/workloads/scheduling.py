"""The scheduler: filter the Nodes that a Pod may run on, and choose one of them.

The resources that a Pod requests are counted as kube-scheduler does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.digits import has_only_digits, parse_integer
from kapy.kube.quantity import InvalidQuantity, parse
from kapy.kube.selectors import selector_of

Amounts = dict[str, Decimal]
"""Amounts by resource name."""
_NOTHING = Decimal(0)
_OF_PODS = ("cpu", "memory")
"""Resources that a Pod may request at the Pod level (also `hugepages-*`)."""


def requests_of(pod: Document) -> Amounts:
    """Return the total requests of containers that run at the same time, plus the overhead."""
    spec = pod["spec"]
    wanted = _sum(_requests(item) for item in spec.get("containers") or ())
    beside: Amounts = {}
    first: Amounts = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            beside = _sum((beside, _requests(container)))
            first = _maximum(first, beside)
        else:
            first = _maximum(first, _sum((beside, _requests(container))))
    wanted = _maximum(_sum((wanted, beside)), first)
    wanted |= {
        name: amount
        for name, amount in _requests(spec).items()
        if name in _OF_PODS or name.startswith("hugepages-")
    }
    return _sum((wanted, parse_quantities(spec.get("overhead"))))


def parse_quantities(quantities: Mapping[str, Any] | None) -> Amounts:
    """Parse the quantities of a resource list."""
    return {name: _amount(str(text)) for name, text in (quantities or {}).items()}


def insufficient_resources(allocatable: Amounts, used: Amounts, wanted: Amounts) -> list[str]:
    """Return the resources of which a Node has less left than a Pod requests."""
    return [
        name
        for name, amount in wanted.items()
        if amount > 0 and amount > allocatable.get(name, _NOTHING) - used.get(name, _NOTHING)
    ]


def add(used: Amounts, more: Amounts) -> None:
    """Add the amounts `more` to the amounts `used`, in place."""
    for name, amount in more.items():
        used[name] = used.get(name, _NOTHING) + amount


def _requests(holder: Mapping[str, Any]) -> Amounts:
    return parse_quantities((holder.get("resources") or {}).get("requests"))


def _sum(parts: Iterable[Amounts]) -> Amounts:
    result: Amounts = {}
    for part in parts:
        add(result, part)
    return result


def _maximum(value: Amounts, other: Amounts) -> Amounts:
    names = value.keys() | other.keys()
    return {name: max(value.get(name, _NOTHING), other.get(name, _NOTHING)) for name in names}


@lru_cache(maxsize=1024)
def _amount(text: str) -> Decimal:
    try:
        return parse(text)
    except InvalidQuantity:
        return _NOTHING


MOST_PODS: Final = 110
"""The Pod limit of a Node without one in its status, which is the kubelet's default."""
_ENDED: Final = ("Succeeded", "Failed")
_HOSTNAME: Final = "kubernetes.io/hostname"
_FORBID: Final = ("NoSchedule", "NoExecute")
_OF_DAEMONS: Final = tuple(
    {"key": f"node.kubernetes.io/{item}", "operator": "Exists"}
    for item in ("not-ready", "unreachable", "disk-pressure", "memory-pressure", "pid-pressure",
                "unschedulable", "network-unavailable")
)  # fmt: skip


def is_feasible(node: Document, spec: Mapping[str, Any], *, daemon: bool = False) -> bool:
    """Report whether a Pod with this spec may run on a Node. daemon: whether a DaemonSet owns the
    Pod.
    """
    return not filter_reason(node, spec, daemon=daemon)


def filter_reason(node: Document, spec: Mapping[str, Any], *, daemon: bool = False) -> str:
    """Return kube-scheduler's reason why a Pod may not run on a Node, "" if it may.

    daemon: whether a DaemonSet owns the Pod.
    """
    own = node.get("spec") or {}
    if node["metadata"].get("deletionTimestamp"):
        return "node(s) are being deleted"
    if not daemon and own.get("unschedulable"):
        return "node(s) were unschedulable"
    tolerations = [*(spec.get("tolerations") or ()), *(_OF_DAEMONS if daemon else ())]
    forbidding = [taint for taint in own.get("taints") or () if taint.get("effect") in _FORBID]
    is_untolerated = any(
        not any(_tolerates(toleration, taint) for toleration in tolerations) for taint in forbidding
    )
    if is_untolerated or not (daemon or _is_ready(node)):
        return "node(s) had untolerated taint(s)"
    labels = node["metadata"].get("labels") or {}
    wanted = spec.get("nodeSelector") or {}
    is_selected = all(labels.get(key) == value for key, value in wanted.items())
    if not is_selected or not _has_affinity(node, spec):
        return "node(s) didn't match Pod's node affinity/selector"
    return ""


class _Node:
    """A Node in the scheduler, with its Pods that have not ended and the sum of their requests."""

    __slots__ = ("_allocatable", "_used", "document", "name", "pods")

    def __init__(self, document: Document) -> None:
        self.document = document
        self.name: str = document["metadata"]["name"]
        self.pods: list[Document] = []
        self._allocatable = parse_quantities((document.get("status") or {}).get("allocatable"))
        self._used: Amounts = {}

    def add(self, pod: Document, wanted: Amounts) -> None:
        """Count a Pod that runs on this Node, and its requests."""
        self.pods.append(pod)
        add(self._used, wanted)

    def filter_reasons(
        self, pod: Document, wanted: Amounts, apart: Callable[[Document], bool] | None
    ) -> list[str]:
        """Return the reasons why a Pod does not fit this Node.

        A Node without allocatable resources has enough of all.
        """
        if why := filter_reason(self.document, pod["spec"]):
            return [why]
        most = self._allocatable.get("pods", MOST_PODS)
        reasons = ["Too many pods"] if len(self.pods) >= most else []
        if self._allocatable:
            lacks = insufficient_resources(self._allocatable, self._used, wanted)
            reasons += [f"Insufficient {lack}" for lack in lacks]
        if not reasons and apart and any(map(apart, self.pods)):
            return ["node(s) didn't match pod anti-affinity rules"]
        return reasons


class NodeSnapshot:
    """The free resources of all Nodes at one moment, for scheduling. pods: all existing Pods."""

    def __init__(self, nodes: Sequence[Document], pods: Iterable[Document]) -> None:
        self._nodes = {item["metadata"]["name"]: _Node(item) for item in nodes}
        for pod in pods:
            node = self._nodes.get((pod.get("spec") or {}).get("nodeName", ""))
            if node is not None and (pod.get("status") or {}).get("phase") not in _ENDED:
                node.add(pod, requests_of(pod))

    def choose_node(self, pod: Document) -> tuple[str, str]:
        """Choose the fitting Node with the fewest Pods.

        Returns the Node's name and "", or "" and the reason.
        """
        apart, wanted = _anti_affinity_predicate(pod), requests_of(pod)
        reasons = Counter[str]()
        fitting = []
        for node in self._nodes.values():
            refusals = node.filter_reasons(pod, wanted, apart)
            reasons.update(refusals)
            if not refusals:
                fitting.append((len(node.pods), node.name))
        if not fitting:
            return "", self._message(reasons)
        name = min(fitting)[1]
        self._nodes[name].add(pod, wanted)
        return name, ""

    def _message(self, reasons: Mapping[str, int]) -> str:
        result = ", ".join(sorted(f"{count} {why}" for why, count in reasons.items()))
        return f"0/{len(self._nodes)} nodes are available:" + (f" {result}." if result else "")


def _is_ready(node: Document) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in conditions
    )


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
        and all(_matches(expression, labels) for expression in term.get("matchExpressions") or ())
        and all(_matches(field, fields) for field in term.get("matchFields") or ())
        for term in required.get("nodeSelectorTerms") or ()
    )


def _matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, wanted = labels.get(requirement.get("key", "")), requirement.get("values") or ()
    return _OPERATORS.get(requirement.get("operator", ""), _match_nothing)(value, wanted)


def _match_nothing(_: str | None, __: Sequence[str]) -> bool:
    return False


def _number(value: str | None) -> int | None:
    if value is None or not has_only_digits(value.removeprefix("-")):
        return None
    return parse_integer(value)


def _compare_numbers(value: str | None, wanted: Sequence[str], *, greater: bool) -> bool:
    item, other = _number(value), _number(wanted[0] if wanted else None)
    if item is None or other is None:
        return False
    return item > other if greater else item < other


_OPERATORS: Final[Mapping[str, Callable[[str | None, Sequence[str]], bool]]] = {
    "In": lambda value, wanted: value in wanted,
    "NotIn": lambda value, wanted: value not in wanted,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, wanted: _compare_numbers(value, wanted, greater=True),
    "Lt": lambda value, wanted: _compare_numbers(value, wanted, greater=False),
}


def _anti_affinity_predicate(pod: Document) -> Callable[[Document], bool] | None:
    """Return a predicate for Pods that this Pod's anti-affinity keeps off its Node.

    Returns None if it has no such anti-affinity.
    """
    affinity = (pod["spec"].get("affinity") or {}).get("podAntiAffinity") or {}
    namespace = pod["metadata"]["namespace"]
    terms = [
        (item.get("namespaces") or (namespace,), selector_of(item.get("labelSelector")))
        for item in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        if item.get("topologyKey") == _HOSTNAME
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
