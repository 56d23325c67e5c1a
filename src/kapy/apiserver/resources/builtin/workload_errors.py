"""Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and pod templates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from kapy.apiserver.resources.builtin.pod_errors import pod_errors
from kapy.apiserver.resources.builtin.rollout_errors import (
    daemon_set_errors,
    deployment_rollout_errors,
    stateful_set_errors,
)
from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.apiserver.resources.metadata import annotation_errors, label_errors
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FixedText,
    forbidden,
    invalid,
    not_supported,
    required,
)
from kapy.kube.selectors import InvalidSelector, selector_of

NOT_NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"
_STRATEGIES: Final = ["Recreate", "RollingUpdate"]


def workload_errors(
    document: Document, old: Document | None, kind: str, *, counted: bool
) -> Iterator[FieldError]:
    """Yield the errors of a workload. kind: its kind in messages. counted: it has replicas."""
    spec = document.get("spec") or {}
    selector, template = spec.get("selector"), spec.get("template") or {}
    if counted:
        yield from not_negative(spec, ("replicas",), "spec")
    if selector is None:
        yield required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield invalid("spec.selector", selector, f"empty selector is invalid for {kind}")
    else:
        yield from selector_errors(selector, "spec.selector")
    before = selector if old is None else (old.get("spec") or {}).get("selector")
    if selector != before and kind != "statefulset":
        yield invalid("spec.selector", selector, IMMUTABLE)
    yield from _label_errors(selector, template)
    yield from template_errors(template, "spec.template")
    yield from _template_of_workload(template.get("spec") or {}, "spec.template.spec")
    if kind in _OWN:
        yield from _OWN[kind](spec, None if old is None else old.get("spec") or {})


def not_negative(spec: Document, fields: tuple[str, ...], path: str) -> Iterator[FieldError]:
    """Yield errors for negative values of optional numbers."""
    for field in fields:
        number = spec.get(field)
        if number is not None and number < 0:
            yield invalid(f"{path}.{field}", number, NOT_NEGATIVE)


def template_errors(template: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a pod template."""
    meta = template.get("metadata") or {}
    yield from label_errors(meta.get("labels") or {}, f"{path}.labels")
    yield from annotation_errors(meta.get("annotations") or {}, f"{path}.annotations")
    yield from pod_errors(template.get("spec") or {}, f"{path}.spec")


def _template_of_workload(spec: Document, path: str) -> Iterator[FieldError]:
    restart = spec.get("restartPolicy")
    if restart != "Always":
        yield not_supported(f"{path}.restartPolicy", restart or "", ["Always"])
    if spec.get("activeDeadlineSeconds") is not None:
        text = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield forbidden(f"{path}.activeDeadlineSeconds", text)


def _deployment_errors(spec: Document, _: Document | None) -> Iterator[FieldError]:
    strategy, path = spec.get("strategy") or {}, "spec.strategy"
    rolling, kind = strategy.get("rollingUpdate"), strategy.get("type") or ""
    if kind == "Recreate" and rolling is not None:
        text = "may not be specified when strategy `type` is 'Recreate'"
        yield forbidden(f"{path}.rollingUpdate", text)
    elif kind not in _STRATEGIES:
        names = {"maxUnavailable": "MaxUnavailable", "maxSurge": "MaxSurge"}
        parts = (
            {result: rolling.get(name, 0) for name, result in names.items()}
            if rolling is not None
            else None
        )
        fixed_text = FixedText.of({"Type": kind, "RollingUpdate": parts})
        yield not_supported(path, fixed_text, _STRATEGIES, ordered=True)
    elif kind == "RollingUpdate" and rolling is not None:
        yield from deployment_rollout_errors(rolling, f"{path}.rollingUpdate")
    fields = ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    yield from not_negative(spec, fields, "spec")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        yield invalid("spec.progressDeadlineSeconds", deadline, text)


_OWN: Final[dict[str, Callable[[Document, Document | None], Iterator[FieldError]]]] = {
    "deployment": _deployment_errors,
    "daemonset": daemon_set_errors,
    "statefulset": stateful_set_errors,
}


def _label_errors(selector: Document | None, template: Document) -> Iterator[FieldError]:
    """Yield an error if the selector does not match the template's labels."""
    labels = (template.get("metadata") or {}).get("labels")
    try:
        chosen = selector_of(selector)
    except InvalidSelector:
        yield invalid("spec.selector", selector, "invalid label selector")
        return
    if selector != {} and not chosen.matches(labels):
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, text)
