"""Validation of webhook configurations.

An update may keep invalid parts that the old configuration had: side effects, unsupported review
versions, duplicate names, invalid label values, and conditions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kapy.apiserver.resources.builtin.webhook_client_errors import (
    client_errors,
    review_version_errors,
)
from kapy.apiserver.resources.label_selectors import selector_errors
from kapy.apiserver.resources.review_versions import KNOWN, first_supported
from kapy.kube import Document
from kapy.kube.field_errors import (
    FieldError,
    FieldErrors,
    duplicate,
    invalid,
    not_supported,
    required,
)
from kapy.kube.qualified_names import (
    dns_subdomain_errors,
    qualified_name_errors,
)

_CONDITIONS_LIMIT: Final = 64
_SIDE_EFFECTS: Final = ["None", "NoneOnDryRun"]
_ALL_SIDE_EFFECTS: Final = ["None", "NoneOnDryRun", "Some", "Unknown"]
_CHOICES: Final = {
    "failurePolicy": ["Fail", "Ignore"],
    "matchPolicy": ["Equivalent", "Exact"],
    "reinvocationPolicy": ["IfNeeded", "Never"],
}
_OPERATIONS: Final = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]
_SCOPES: Final = ["*", "Cluster", "Namespaced"]


@dataclass(frozen=True, slots=True)
class _RequiredChecks:
    """The checks for all webhooks; an update skips those that the old configuration violated."""

    conditions: bool = True
    no_side_effects: bool = True
    known_version: bool = True
    unique_names: bool = True
    label_values: bool = True
    expressions: frozenset[str] = frozenset()

    @classmethod
    def after(cls, old: Sequence[Document], new: Sequence[Document]) -> _RequiredChecks:
        """Return the checks for `new` webhooks that replace `old` ones."""
        conditions = [item.get("matchConditions") for item in old]
        names = [item.get("name") for item in old]
        return cls(
            conditions=conditions != [item.get("matchConditions") for item in new],
            no_side_effects=all(item.get("sideEffects") in _SIDE_EFFECTS for item in old),
            known_version=all(
                first_supported(versions)
                for item in old
                if (versions := item.get("admissionReviewVersions"))
            ),
            unique_names=len(set(names)) == len(names),
            label_values=not any(True for item in old for _ in _selectors_errors(item, "")),
            expressions=frozenset(
                item.get("expression") or "" for some in conditions for item in some or ()
            ),
        )


def configuration_errors(document: Document, old: Document | None) -> list[FieldError]:
    """Return the errors of a configuration; unchanged conditions are not compiled again."""
    errors: list[FieldError] = FieldErrors()
    hooks = document.get("webhooks") or ()
    demands = (
        _RequiredChecks()
        if old is None
        else _RequiredChecks.after(old.get("webhooks") or (), hooks)
    )
    names: set[str] = set()
    for index, hook in enumerate(hooks):
        path = f"webhooks[{index}]"
        errors += _hook_errors(hook, path, demands)
        errors += review_version_errors(
            hook.get("admissionReviewVersions") or [],
            f"{path}.admissionReviewVersions",
            missing=f"must specify one of {', '.join(KNOWN)}",
            known_needed=demands.known_version,
        )
        name = hook.get("name") or ""
        if demands.unique_names and name and name in names:
            errors.append(duplicate(f"{path}.name", name))
        names.add(name)
    return errors


def _hook_errors(hook: Document, path: str, demands: _RequiredChecks) -> Iterator[FieldError]:
    yield from _name_errors(hook.get("name") or "", f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        yield from _rule_errors(rule, f"{path}.rules[{index}]")
    yield from _choice_errors(hook, path, ("failurePolicy", "matchPolicy"))
    effects = hook.get("sideEffects")
    allowed = _SIDE_EFFECTS if demands.no_side_effects else _ALL_SIDE_EFFECTS
    if effects is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}")
    elif effects not in allowed:
        yield not_supported(f"{path}.sideEffects", effects, allowed)
    seconds = hook.get("timeoutSeconds")
    if seconds is not None and not 1 <= seconds <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        yield invalid(f"{path}.timeoutSeconds", seconds, why)
    yield from _selectors_errors(hook, path, values=demands.label_values)
    yield from _choice_errors(hook, path, ("reinvocationPolicy",))
    yield from client_errors(hook.get("clientConfig") or {}, f"{path}.clientConfig")
    if demands.conditions:
        yield from _condition_errors(hook, f"{path}.matchConditions", demands.expressions)


def _choice_errors(hook: Document, path: str, fields: Sequence[str]) -> Iterator[FieldError]:
    for field in fields:
        value = hook.get(field)
        if value is not None and value not in _CHOICES[field]:
            yield not_supported(f"{path}.{field}", value, _CHOICES[field])


def _selectors_errors(hook: Document, path: str, *, values: bool = True) -> Iterator[FieldError]:
    for field in ("namespaceSelector", "objectSelector"):
        yield from selector_errors(hook.get(field) or {}, f"{path}.{field}", values=values)


def _name_errors(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    elif wrong := dns_subdomain_errors(name):
        yield invalid(path, name, ",".join(wrong))
    elif name.count(".") < 2:
        why = "should be a domain with at least three segments separated by dots"
        yield invalid(path, name, why)


def _rule_errors(rule: Document, path: str) -> Iterator[FieldError]:
    lists = (
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    )
    for field, item in lists:
        values = rule.get(field) or []
        if not values:
            yield required(f"{path}.{field}")
        if len(values) > 1 and "*" in values:
            why = f"if '*' is present, must not specify other {item}"
            yield invalid(f"{path}.{field}", values, why)
        for index, value in enumerate(values):
            if field == "operations" and value not in _OPERATIONS:
                yield not_supported(f"{path}.{field}[{index}]", value, _OPERATIONS)
            if field == "apiVersions" and not value:
                yield required(f"{path}.{field}[{index}]")
    yield from _resource_errors(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope, _SCOPES)


def _resource_errors(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    if not resources:
        yield required(path)
    every_part: set[str] = set()
    of_every: set[str] = set()
    for index, resource in enumerate(resources):
        if not resource:
            yield required(f"{path}[{index}]")
            continue
        main, slash, part = resource.partition("/")
        if not slash:
            continue
        if main in every_part:
            why = f"if '{main}/*' is present, must not specify {resource}"
            yield invalid(f"{path}[{index}]", resource, why)
        if part in of_every:
            why = f"if '*/{part}' is present, must not specify {resource}"
            yield invalid(f"{path}[{index}]", resource, why)
        if part == "*":
            every_part.add(main)
        if main == "*":
            of_every.add(part)
    yield from _wildcard_errors(resources, path)


def _wildcard_errors(resources: Sequence[str], path: str) -> Iterator[FieldError]:
    if len(resources) > 1 and "*/*" in resources:
        why = "if '*/*' is present, must not specify other resources"
        yield invalid(path, list(resources), why)
    # Only the last resource without a subresource is checked.
    plain = [resource for resource in resources if resource and "/" not in resource]
    if "*" in plain and plain[-1] != "*":
        why = "if '*' is present, must not specify other resources without subresources"
        yield invalid(path, list(resources), why)


def _condition_errors(hook: Document, path: str, before: frozenset[str]) -> Iterator[FieldError]:
    conditions = hook.get("matchConditions") or ()
    if len(conditions) > _CONDITIONS_LIMIT:
        why = f"must have at most {_CONDITIONS_LIMIT} items"
        yield FieldError("FieldValueTooMany", path, why, len(conditions))
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        where, expression = f"{path}[{index}]", condition.get("expression") or ""
        if not expression.strip():
            yield required(f"{where}.expression")
        elif expression not in before and (wrong := _compile_error(expression)):
            yield invalid(f"{where}.expression", expression, wrong)
        name = condition.get("name") or ""
        if not name:
            yield required(f"{where}.name")
        for text in qualified_name_errors(name) if name else ():
            yield invalid(f"{where}.name", name, text)
        if name and name in names:
            yield duplicate(f"{where}.name", name)
        names.add(name)


def _compile_error(expression: str) -> str:
    from kapy.apiserver.resources.match_conditions import compile_error

    return compile_error(expression)
