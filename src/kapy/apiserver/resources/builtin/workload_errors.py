"""Validation of Deployments, ReplicaSets, StatefulSets, DaemonSets and pod templates, and of how
pods are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from kapy.apiserver.resources.builtin.pod_errors import pod_errors
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
from kapy.kube.qualified_names import dns_label_errors
from kapy.kube.selectors import InvalidSelector, selector_of

_PERCENT: Final = re.compile("[0-9]+%")
_NO_PERCENT: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or "
    "'93%', regex used for validation is '[0-9]+%')"
)
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_TYPES: Final = ["RollingUpdate", "OnDelete"]
_OF_CLAIMS: Final = "persistentVolumeClaimRetentionPolicy"
_CLAIMS: Final = ["Retain", "Delete"]


def deployment_rollout_errors(rolling: Document, path: str) -> Iterator[FieldError]:
    """Yield the errors of a Deployment's rolling update."""
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    where = f"{path}.maxUnavailable"
    yield from amount_errors(unavailable, where)
    yield from amount_errors(surge, f"{path}.maxSurge")
    if _value(unavailable) == _value(surge) == 0:
        yield invalid(where, unavailable, "may not be 0 when `maxSurge` is 0")
    yield from share_errors(unavailable, where)


def daemon_set_errors(spec: Document, _: Document | None) -> Iterator[FieldError]:
    """Yield the errors of fields that only DaemonSets have."""
    for field in ("minReadySeconds", "revisionHistoryLimit"):
        yield from _not_negative(spec.get(field) or 0, f"spec.{field}")
    strategy, path = spec.get("updateStrategy") or {}, "spec.updateStrategy"
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind not in _TYPES:
        yield not_supported(path, _strategy_text(kind, rolling, _OF_DAEMONS), _TYPES, ordered=True)
    if kind != "RollingUpdate":
        return
    path = f"{path}.rollingUpdate"
    if rolling is None:
        yield required(path)
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for field, amount in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        yield from amount_errors(amount, f"{path}.{field}")
    for field, amount in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        yield from share_errors(amount, f"{path}.{field}")
    if _value(unavailable) and _value(surge):
        text = "may not be set when maxUnavailable is non-zero"
        yield invalid(f"{path}.maxSurge", surge, text)
    elif not _value(unavailable) and not _value(surge):
        yield required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def stateful_set_errors(spec: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of fields that only StatefulSets have, but for claims."""
    management = spec.get("podManagementPolicy") or ""
    if not management:
        yield required("spec.podManagementPolicy")
    elif management not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        yield invalid("spec.podManagementPolicy", management, text)
    yield from _update_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy")
    policy, path = spec.get(_OF_CLAIMS) or {}, f"spec.{_OF_CLAIMS}"
    for field in ("whenDeleted", "whenScaled") if policy else ():
        if (value := policy.get(field) or "") not in _CLAIMS:
            yield not_supported(f"{path}.{field}", value, _CLAIMS, ordered=True)
    yield from _not_negative(spec.get("minReadySeconds") or 0, "spec.minReadySeconds")
    start = (spec.get("ordinals") or {}).get("start") or 0
    yield from _not_negative(start, "spec.ordinals.start")
    if old is None:
        if name := spec.get("serviceName"):
            yield from (invalid("spec.serviceName", name, text) for text in dns_label_errors(name))
    elif any(spec.get(key) != old.get(key) for key in {*spec, *old} - _MAY_CHANGE):
        yield forbidden("spec", _IMMUTABLE)


_MAY_CHANGE: Final = {
    *("replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit"),
    *("persistentVolumeClaimRetentionPolicy", "minReadySeconds"),
}
_IMMUTABLE: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', "
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "
    "'minReadySeconds' are forbidden"
)


def _update_strategy(strategy: Document, path: str) -> Iterator[FieldError]:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    where = f"{path}.rollingUpdate"
    if not kind:
        yield required(path)
    elif kind == "OnDelete":
        if rolling is not None:
            fixed_text = FixedText.of(_internal(rolling, _OF_SETS))
            yield invalid(where, fixed_text, "only allowed for updateStrategy 'RollingUpdate'")
    elif kind != "RollingUpdate":
        fixed_text = _strategy_text(kind, rolling, _OF_SETS)
        yield invalid(path, fixed_text, "must be 'RollingUpdate' or 'OnDelete'")
    elif rolling is not None:
        yield from _not_negative(rolling.get("partition") or 0, f"{where}.partition")


_OF_DAEMONS: Final = {"MaxUnavailable": 0, "MaxSurge": 0}
_OF_SETS: Final = {"Partition": 0, "MaxUnavailable": None}


def _strategy_text(kind: str, rolling: Document | None, fields: Document) -> FixedText:
    parts = None if rolling is None else _internal(rolling, fields)
    return FixedText.of({"Type": kind, "RollingUpdate": parts})


def _internal(rolling: Document, fields: Document) -> Document:
    """Return an update's parameters with the names of Go's struct."""
    return {
        name: rolling.get(name[0].lower() + name[1:], absent) for name, absent in fields.items()
    }


def amount_errors(amount: Any, path: str) -> Iterator[FieldError]:
    """Yield the errors of a number of pods, or of a share of them in percent."""
    if isinstance(amount, str):
        if not _PERCENT.fullmatch(amount):
            yield invalid(path, amount, _NO_PERCENT)
    else:
        yield from _not_negative(amount, path)


def share_errors(amount: Any, path: str) -> Iterator[FieldError]:
    """Yield an error for a share of more than all pods."""
    if isinstance(amount, str) and _PERCENT.fullmatch(amount) and _value(amount) > 100:
        yield invalid(path, amount, "must not be greater than 100%")


def _value(amount: Any) -> int:
    """Return the number of an amount, 0 if it is none."""
    if not isinstance(amount, str):
        return int(amount)
    digits = amount.removesuffix("%")
    return int(digits[:18]) if re.fullmatch("[0-9]+", digits) else 0


def _not_negative(number: int, path: str) -> Iterator[FieldError]:
    if number < 0:
        yield invalid(path, number, _NOT_NEGATIVE)


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
