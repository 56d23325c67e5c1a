"""Rules of a schema, run on the objects of a custom resource."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube import Document
from kapy.kube.cel import rule_checker
from kapy.kube.schema import Structural


def found(
    schema: Document, new: Any, old: Any = ..., *, warnings: list[str] | None = None
) -> list[str]:
    """Return the errors of the rules for the value of `spec.f`, with the schema of `f`."""
    spec = {"type": "object", "properties": {"f": schema, "other": {"type": "integer"}}}
    structural = Structural.compile(
        {"type": "object", "properties": {"spec": spec}}, rules=rule_checker
    )
    before = None if old is ... else {"spec": {"f": old}}
    errors = structural.validate({"spec": {"f": new, "other": 1}}, before, warnings)
    return [str(error) for error in errors]


def ruled(kind: str, *rules: Document | str, **more: Any) -> Document:
    written = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {"type": kind, "x-kubernetes-validations": written, **more}


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ({}, "spec.f: Invalid value: 7: failed rule: self < 5"),
        ({"message": " too many "}, "spec.f: Invalid value: 7: too many"),
        ({"messageExpression": "'got ' + string(self)"}, "spec.f: Invalid value: 7: got 7"),
        (
            {"messageExpression": "''", "message": "too many"},
            "spec.f: Invalid value: 7: too many",
        ),
        (
            {"messageExpression": "string(1 / 0)", "message": "too many"},
            "spec.f: Invalid value: 7: too many",
        ),
        ({"message": "no", "reason": "FieldValueForbidden"}, "spec.f: Forbidden: no"),
        ({"message": "no", "reason": "FieldValueRequired"}, "spec.f: Required value: no"),
        ({"message": "no", "reason": "FieldValueDuplicate"}, "spec.f: Duplicate value: 7"),
    ],
)
def test_a_broken_rule_reports_its_message(rule: Document, error: str) -> None:
    schema = ruled("integer", {"rule": "self < 5", **rule})
    assert found(schema, 7) == [error]
    assert found(schema, 4) == []


def test_values_of_objects_and_lists_are_not_shown() -> None:
    assert found(ruled("array", "self.size() < 1", items={"type": "integer"}), [1]) == [
        "spec.f: Invalid value: failed rule: self.size() < 1"
    ]


@pytest.mark.parametrize(
    ("path", "where"),
    [(".a", "spec.f.a"), (".b['x.y']", "spec.f.b[x.y]"), ("['a']", "spec.f[a]")],
)
def test_a_rule_can_name_the_path_of_a_field(path: str, where: str) -> None:
    properties = {
        "a": {"type": "integer"},
        "b": {"type": "object", "additionalProperties": {"type": "integer"}},
    }
    rule = {"rule": "false", "message": "no", "fieldPath": path}
    schema = ruled("object", rule, properties=properties)
    assert found(schema, {}) == [f"{where}: Invalid value: no"]


def test_a_transition_rule_needs_an_old_value() -> None:
    schema = ruled("string", "self == oldSelf")
    assert found(schema, "b") == []
    assert found(schema, "b", "b") == []
    assert found(schema, "b", "a") == ['spec.f: Invalid value: "b": failed rule: self == oldSelf']


def test_an_optional_old_value_may_be_absent() -> None:
    rule = "oldSelf.hasValue() ? self >= oldSelf.value() : self == 0"
    schema = ruled("integer", {"rule": rule, "message": "only up", "optionalOldSelf": True})
    assert found(schema, 0) == []
    assert found(schema, 1) == ["spec.f: Invalid value: 1: only up"]
    assert found(schema, 5, 4) == []
    assert found(schema, 3, 4) == ["spec.f: Invalid value: 3: only up"]


def test_items_of_a_map_list_are_compared_by_their_keys() -> None:
    item = ruled(
        "object",
        {"rule": "self.v == oldSelf.v", "message": "fixed"},
        properties={"k": {"type": "string"}, "v": {"type": "integer"}},
    )
    schema = {
        "type": "array",
        "items": item,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
    }
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    assert found(schema, [{"k": "b", "v": 2}, {"k": "a", "v": 9}], old) == [
        "spec.f[1]: Invalid value: fixed"
    ]
    assert found(schema, [{"k": "c", "v": 3}], old) == []


def test_values_of_maps_are_compared_for_all_types() -> None:
    fixed = ruled("integer", {"rule": "self == oldSelf", "message": "fixed"})
    granular = {"type": "object", "additionalProperties": fixed}
    assert found(granular, {"a": 2}, {"a": 1}) == ["spec.f[a]: Invalid value: 2: fixed"]
    atomic = {**granular, "x-kubernetes-map-type": "atomic"}
    assert found(atomic, {"a": 2}, {"a": 1}) == ["spec.f[a]: Invalid value: 2: fixed"]


def test_unchanged_invalid_values_only_cause_warnings() -> None:
    schema = ruled("integer", {"rule": "self < 5", "message": "too many"})
    warnings: list[str] = []
    assert found(schema, 7, 7, warnings=warnings) == []
    assert warnings == ["spec.f: Invalid value: 7: too many"]
    assert found(schema, 8, 7) == ["spec.f: Invalid value: 8: too many"]


def test_items_of_an_unchanged_list_are_ratcheted() -> None:
    schema = {"type": "array", "items": ruled("integer", {"rule": "self < 5", "message": "no"})}
    warnings: list[str] = []
    assert found(schema, [9], [9], warnings=warnings) == []
    assert warnings == ["spec.f[0]: Invalid value: 9: no"]
    assert found(schema, [9, 1], [9]) == ["spec.f[0]: Invalid value: 9: no"]


def test_transition_rules_are_not_ratcheted() -> None:
    schema = ruled("integer", {"rule": "self > oldSelf", "message": "only up"})
    assert found(schema, 7, 7) == ["spec.f: Invalid value: 7: only up"]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("self.all(x, 1 / x > 0)", "division by zero evaluating rule: self.all(x, 1 / x > 0)"),
        (
            "dyn(self[0]) + 'a' == ''",
            "'no such overload': call arguments did not match a supported operator, function or "
            "macro signature for rule: dyn(self[0]) + 'a' == ''",
        ),
    ],
)
def test_a_rule_without_a_value_is_broken(rule: str, error: str) -> None:
    schema = ruled("array", rule, items={"type": "integer"})
    assert found(schema, [0]) == [f"spec.f: Invalid value: {error}"]


@pytest.mark.parametrize(
    ("schema", "new", "old", "error"),
    [
        (ruled("integer", "self < 5"), 1.0, ..., "expected int, got float64"),
        (ruled("string", "self == oldSelf"), "a", {"b": 1}, "expected string, got map[string]"),
        (ruled("boolean", "self == oldSelf"), True, 1, "expected bool, got int64"),
        (ruled("number", "self == oldSelf"), 1.5, "a", "expected float, got string"),
        (ruled("object", "self == oldSelf"), {}, [], "expected a map for the provided schema"),
    ],
)
def test_a_rule_is_not_run_on_a_value_of_another_type(
    schema: Document, new: Any, old: Any, error: str
) -> None:
    (message,) = found(schema, new, old)
    assert f"invalid data, {error}" in message
    assert message.endswith(f"evaluating rule: {schema['x-kubernetes-validations'][0]['rule']}")


def test_a_rule_without_a_reference_holds_for_every_value() -> None:
    assert found(ruled("integer", "true"), 1.0) == []


def test_a_rule_that_costs_too_much_ends_all_rules() -> None:
    costly = "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))"
    schema = ruled("array", {"rule": costly, "message": "m"}, "false", items={"type": "integer"})
    assert found(schema, [1] * 200) == [
        "spec.f: Invalid value: 'operation cancelled: actual cost limit exceeded': no further "
        "validation rules will be run due to call cost exceeds limit for rule: m"
    ]


def test_a_rule_that_was_stored_unchecked_refuses_every_value() -> None:
    (error,) = found(ruled("integer", "self == 'x'"), 1)
    message = 'spec.f: Invalid value: "integer": rule compile error: compilation failed:'
    assert error.startswith(message)


@pytest.mark.parametrize(
    ("kind", "form", "rule", "good", "bad"),
    [
        (
            "string",
            "date-time",
            "self.getFullYear() > 2020",
            "2021-01-01T00:00:00Z",
            "2020-01-01T00:00:00Z",
        ),
        ("string", "duration", "self <= duration('1h')", "60m", "61m"),
        ("number", "", "self / 2.0 == 1.5", 3, 2),
    ],
)
def test_a_scalar_has_the_type_of_its_format(
    kind: str, form: str, rule: str, good: Any, bad: Any
) -> None:
    schema = ruled(kind, {"rule": rule, "message": "no"}, format=form)
    assert found(schema, good) == []
    assert len(found(schema, bad)) == 1


def test_rules_at_the_root_can_read_name_and_kind() -> None:
    rules = [{"rule": "self.metadata.name.startsWith('a') && self.kind == 'Thing'"}]
    schema: Document = {"type": "object", "x-kubernetes-validations": rules}
    structural = Structural.compile(schema, rules=rule_checker)
    assert structural.validate({"kind": "Thing", "metadata": {"name": "ab"}}) == []
    (error,) = structural.validate({"kind": "Thing", "metadata": {"name": "b"}})
    assert error.field == "<nil>"


def test_rules_of_embedded_objects_see_their_metadata() -> None:
    schema = ruled(
        "object",
        {"rule": "self.metadata.name != 'x'", "message": "no"},
        **{
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    )
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    assert found(schema, value) == ["spec.f: Invalid value: no"]
