"""What is wrong with Deployments and their kin, and with the pods that they describe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.apiserver.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, duplicate, forbidden, invalid, required
from kapy.kube.qualified_names import dns_label_errors
from kapy.kube.selectors import InvalidSelector, selector_of

_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_IMMUTABLE: Final = "field is immutable"


def workload_errors(
    document: Document, old: Document | None, kind: str, *, counted: bool
) -> Iterator[FieldError]:
    """Of a Deployment, ReplicaSet, StatefulSet or DaemonSet (`kind` as its errors name it).

    counted: it has replicas.
    """
    spec = document.get("spec") or {}
    selector, template = spec.get("selector"), spec.get("template") or {}
    if counted and (spec.get("replicas") or 0) < 0:
        yield invalid("spec.replicas", spec["replicas"], _NOT_NEGATIVE)
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate" and strategy.get("rollingUpdate") is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden("spec.strategy.rollingUpdate", text)
    if selector is None:
        yield required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    else:
        yield from selector_errors(selector, "spec.selector")
    if old is not None and selector != (old.get("spec") or {}).get("selector"):
        yield invalid("spec.selector", selector, _IMMUTABLE)
    yield from _label_errors(selector, template)
    yield from pod_errors(template.get("spec") or {}, "spec.template.spec")


def _label_errors(selector: Document | None, template: Document) -> Iterator[FieldError]:
    """The template's labels are those that the selector looks for."""
    labels = (template.get("metadata") or {}).get("labels")
    try:
        chosen = selector_of(selector)
    except InvalidSelector:
        yield invalid("spec.selector", selector, "invalid label selector")
        return
    if selector != {} and not chosen.matches(labels):
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, text)


def pod_errors(spec: Document, path: str) -> Iterator[FieldError]:
    """Of a pod's spec: there are containers, with names of their own and images."""
    containers = spec.get("containers") or ()
    if not containers:
        yield required(f"{path}.containers")
    names: set[str] = set()
    for field in ("initContainers", "containers"):
        for index, container in enumerate(spec.get(field) or ()):
            where = f"{path}.{field}[{index}]"
            name = container.get("name") or ""
            if not name:
                yield required(f"{where}.name")
            else:
                yield from (invalid(f"{where}.name", name, one) for one in dns_label_errors(name))
            if name in names:
                yield duplicate(f"{where}.name", name)
            names.add(name)
            if not container.get("image"):
                yield required(f"{where}.image")
