"""Warnings about where the pods of a spec may run: old labels of nodes, terms that match no pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.kube import Document
from kapy.kube.qualified_names import label_value_errors

_OLD_LABELS: Final = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NO_POD: Final = "a null labelSelector results in matching no pod"


def node_warnings(spec: Document, path: str) -> Iterator[str]:
    """Yield the warnings about the node selector, the node affinity and the topology of a pod's
    spec.
    """
    for key in spec.get("nodeSelector") or ():
        if key in _OLD_LABELS:
            yield f"{path}.nodeSelector[{key}]: {_OLD_LABELS[key]}"
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    for index, term in enumerate(terms):
        where = f"{path}.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[{index}]"
        yield from _term(term, where, values=False)
    for index, item in enumerate(affinity.get(_PREFERRED) or ()):
        where = f"{path}.affinity.nodeAffinity.{_PREFERRED}[{index}].preference"
        yield from _term(item.get("preference") or {}, where, values=True)
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = (
            f"{path}.topologySpreadConstraints[{index}]",
            constraint.get("topologyKey") or "",
        )
        if key in _OLD_LABELS:
            yield f"{where}.topologyKey: {key} is {_OLD_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_POD}"


def _term(term: Document, path: str, *, values: bool) -> Iterator[str]:
    """Yield the warnings of one term. values: also check the values, as for preferences."""
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        where, key = f"{path}.matchExpressions[{index}]", expression.get("key") or ""
        if key in _OLD_LABELS:
            yield f"{where}.key: {key} is {_OLD_LABELS[key]}"
        for place, value in enumerate((expression.get("values") or ()) if values else ()):
            for error in label_value_errors(value):
                yield f"{where}.values[{place}]: {value} is invalid, {error}"


def neighbour_warnings(spec: Document, path: str) -> Iterator[str]:
    """Yield the warnings about the affinity of a pod's spec to other pods."""
    for field in ("podAffinity", "podAntiAffinity"):
        affinity = (spec.get("affinity") or {}).get(field) or {}
        where = f"{path}.affinity.{field}"
        for index, term in enumerate(affinity.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{where}.{_REQUIRED}[{index}].labelSelector: {_NO_POD}"
        for index, item in enumerate(affinity.get(_PREFERRED) or ()):
            if (item.get("podAffinityTerm") or {}).get("labelSelector") is None:
                yield f"{where}.{_PREFERRED}[{index}].podAffinityTerm.labelSelector: {_NO_POD}"
