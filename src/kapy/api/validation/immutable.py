"""Validation of templates that must not change: users create a new template instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from kapy.api.conversion.wire import normalize
from kapy.api.defaults import default, previous_defaults
from kapy.kube import Document
from kapy.kube.field_errors import NO_VALUE, FieldError
from kapy.kube.meta import Object
from kapy.kube.nested import value_at
from kapy.kube.patch.merge_patch import is_equal_json

_SPEC: Final = ("spec", "template", "spec")
_STRATEGY: Final = ("rollout", "strategy")
_USUAL_STRATEGY: Final = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}


def immutability_errors(
    new: Document, old: Document, kind: type[Object], create: str
) -> list[FieldError]:
    """Return an error that names the changed fields of `spec.template.spec`."""
    before, after = (_normal(item, kind) for item in (old, new))
    changed = changed_fields(before, after)
    return [immutable_error(new["kind"], create, changed)] if changed else []


def immutable_error(kind: str, create: str, changed: Sequence[str]) -> FieldError:
    """Return the error of an immutable template. changed: its changed fields."""
    problem = (
        f"{kind} spec.template.spec field is immutable. Please create {create} instead. "
        f"Diff: {', '.join(changed)}"
    )
    return FieldError("FieldValueInvalid", ".".join(_SPEC), problem, NO_VALUE)


def _normal(template: Document, kind: type[Object]) -> Document:
    """Return the specification of a template with all defaults, in the form that Go programs write.
    A template that was stored before a default existed, or in another form, counts as unchanged."""
    template = previous_defaults(default(template), (*_SPEC, "kubeadmConfigSpec"))
    with suppress(msgspec.ValidationError):  # an undecodable template is compared unchanged
        template = normalize(template, kind)
    spec: Document = value_at(template, _SPEC) or {}
    if value_at(spec, _STRATEGY) == _USUAL_STRATEGY:
        rollout = {key: value for key, value in spec["rollout"].items() if key != "strategy"}
        spec = {key: value for key, value in spec.items() if key != "rollout"}
        if rollout:
            spec["rollout"] = rollout
    return spec


def changed_fields(old: Document, new: Document) -> list[str]:
    """Return the sorted paths of the fields that differ."""
    return sorted(_changed_paths("", old, new))


def _changed_paths(path: str, old: Any, new: Any) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in {**old, **new}:
            here = f"{path}.{name}" if path else name
            yield from _changed_paths(here, old.get(name), new.get(name))
    elif not is_equal_json(old, new):
        yield path
