"""Jobs: generated selectors and validation.

Not validated: rules of `podFailurePolicy` and `successPolicy`, and the status.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kapy.apiserver.resources.builtin.workload_errors import (
    IMMUTABLE,
    not_negative,
    template_errors,
)
from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, invalid, not_supported, required
from kapy.kube.selectors import InvalidSelector, selector_of

_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex", "maxFailedIndexes"),
)
_NAME: Final = "job-name"
_OWNER: Final = "controller-uid"
_PREFIX: Final = "batch.kubernetes.io/"
_RESTARTS: Final = ["OnFailure", "Never"]
_MODES: Final = ["NonIndexed", "Indexed"]
_REPLACEMENTS: Final = ["Failed", "TerminatingOrFailed"]
_FIXED: Final = (
    *("selector", "completionMode", "podFailurePolicy"),
    *("backoffLimitPerIndex", "managedBy", "successPolicy"),
)


def add_generated_selector(spec: Document, meta: Document) -> Document:
    """Return the spec of a Job with generated labels and selector for its pods."""
    template = spec.get("template") or {}
    metadata = template.get("metadata") or {}
    labels = {**_expected_labels(meta), **(metadata.get("labels") or {})}
    selector = spec.get("selector") or {}
    chosen = {f"{_PREFIX}{_OWNER}": meta["uid"], **(selector.get("matchLabels") or {})}
    template = {**template, "metadata": {**metadata, "labels": dict(sorted(labels.items()))}}
    return {**spec, "selector": {**selector, "matchLabels": chosen}, "template": template}


def _expected_labels(meta: Document) -> dict[str, str]:
    values = {_NAME: meta.get("name") or "", _OWNER: meta["uid"]}
    return values | {f"{_PREFIX}{key}": value for key, value in values.items()}


def job_errors(document: Document, old: Document | None) -> Iterator[FieldError]:
    """Yield the errors of a Job."""
    spec, meta = document.get("spec") or {}, document["metadata"]
    if not spec.get("manualSelector") and spec.get("selector") is not None:
        yield from _generated_errors(spec, meta)
    yield from _spec_errors(spec)
    if old is not None:
        yield from _change_errors(spec, old.get("spec") or {})


def _generated_errors(spec: Document, meta: Document) -> Iterator[FieldError]:
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    expected = _expected_labels(meta)
    for key, value in expected.items():
        where, text = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in (labels or {}):
            yield required(where, text)
        elif (labels or {})[key] != value:
            yield invalid(where, labels, text)
    selector = spec["selector"]
    try:
        chosen = selector_of(selector)
    except InvalidSelector:
        return
    if not chosen.matches(expected):
        yield invalid("spec.selector", selector, "`selector` not auto-generated")


def _spec_errors(spec: Document) -> Iterator[FieldError]:
    yield from not_negative(spec, _COUNTS, "spec")
    yield from _index_errors(spec)
    replacement = spec.get("podReplacementPolicy")
    allowed = _REPLACEMENTS[:1] if spec.get("podFailurePolicy") is not None else _REPLACEMENTS
    if replacement is not None and replacement not in allowed:
        yield not_supported("spec.podReplacementPolicy", replacement, allowed)
    template = spec.get("template") or {}
    yield from template_errors(template, "spec.template")
    yield from _restart_errors(template.get("spec") or {}, spec)
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from selector_errors(selector, "spec.selector")
    labels = (template.get("metadata") or {}).get("labels")
    try:
        matches = selector_of(selector).matches(labels)
    except InvalidSelector:
        return
    if not matches:
        text = "`selector` does not match template `labels`"
        yield invalid("spec.template.metadata.labels", labels, text)


def _restart_errors(pod: Document, spec: Document) -> Iterator[FieldError]:
    restart, where = pod.get("restartPolicy") or "", "spec.template.spec.restartPolicy"
    if restart in ("Always", ""):
        yield required(where, 'valid values: "OnFailure", "Never"')
    elif restart not in _RESTARTS:
        yield not_supported(where, restart, _RESTARTS, ordered=True)
    elif spec.get("podFailurePolicy") is not None and restart != "Never":
        text = 'only "Never" is supported when podFailurePolicy is specified'
        yield invalid(where, restart, text)


def _index_errors(spec: Document) -> Iterator[FieldError]:
    """Yield the errors of fields for Indexed Jobs."""
    mode, failed = spec.get("completionMode"), spec.get("maxFailedIndexes")
    per_index, completions = spec.get("backoffLimitPerIndex"), spec.get("completions")
    if failed is not None and per_index is None:
        yield required("spec.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if mode is not None and mode not in _MODES:
        yield not_supported("spec.completionMode", mode, _MODES, ordered=True)
    if mode == "Indexed":
        if completions is None:
            yield required("spec.completions", "when completion mode is Indexed")
        elif failed is not None and failed > completions:
            text = "must be less than or equal to completions"
            yield invalid("spec.maxFailedIndexes", failed, text)
    elif mode in (None, "NonIndexed"):
        for field, value in (("backoffLimitPerIndex", per_index), ("maxFailedIndexes", failed)):
            if value is not None:
                yield invalid(f"spec.{field}", value, "requires indexed completion mode")


def _change_errors(spec: Document, old: Document) -> Iterator[FieldError]:
    new, before = spec.get("completions"), old.get("completions")
    if new != before and spec.get("completionMode") != "Indexed":
        yield invalid("spec.completions", new, IMMUTABLE)
    for field in _FIXED:
        if spec.get(field) != old.get(field):
            yield invalid(f"spec.{field}", spec.get(field), IMMUTABLE)
    if spec.get("template") != old.get("template") and not old.get("suspend"):
        yield invalid("spec.template", spec.get("template"), IMMUTABLE)
