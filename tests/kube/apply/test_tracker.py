"""Ownership after creates, updates and applies, case by case."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from kapy.kube.apply import Tracker, Types, Write
from kapy.kube.apply.refusals import ApplyFailed
from kapy.kube.errors import BadRequest, Conflict
from tests.kube.apply.shapes import (
    API,
    FIRST,
    LATER,
    SCHEMA,
    TRACKER,
    applied,
    made,
    owners,
    shape,
    stored,
    write,
)

STATUS_ONLY: dict[str, Any] = {"f:metadata": {}, "f:spec": {}}


def updated(live: Any, spec: Any, manager: str, time: str = FIRST, **more: Any) -> Any:
    new = {**live, "spec": spec, **more}
    return stored(TRACKER.track(live, new, write(manager, time)))


def test_a_create_owns_all_but_the_servers_own_metadata() -> None:
    created = TRACKER.track(None, shape({"name": "x"}, labels={"a": "b"}), write("maker"))
    assert created["metadata"]["managedFields"] == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": API,
            "time": FIRST,
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
                "f:spec": {".": {}, "f:name": {}},
            },
        }
    ]


def test_an_update_owns_the_changed_fields() -> None:
    live = applied(None, "one", {"name": "x", "count": 1})
    after = updated(live, {"name": "y", "count": 1}, "two")
    assert owners(after) == {
        ("one", "Apply"): {"f:spec": {"f:count": {}}},
        ("two", "Update"): {"f:spec": {"f:name": {}}},
    }


def test_an_update_that_changes_nothing_owns_nothing_and_keeps_times() -> None:
    live = made({"name": "x"})
    assert updated(live, {"name": "x"}, "two", LATER) == live


def test_an_update_that_removes_a_field_takes_it_from_its_owners() -> None:
    live = applied(None, "one", {"name": "x"})
    after = updated(live, {}, "two")
    assert "managedFields" not in after["metadata"]


def test_a_status_write_has_an_entry_of_its_own() -> None:
    live = made({"name": "x"})
    new = {**live, "spec": {"name": "ignored"}, "status": {"phase": "A"}}
    after = TRACKER.track(live, new, write("maker", FIRST, "status", STATUS_ONLY))
    assert owners(after)["maker", "Updatestatus"] == {"f:status": {".": {}, "f:phase": {}}}
    assert owners(after)["maker", "Update"] == owners(live)["maker", "Update"]


def test_timestamps_change_only_with_the_fields() -> None:
    live = applied(made({"count": 1}), "one", {"name": "x"})
    after = updated(live, {"count": 2, "name": "x"}, "maker", LATER)
    times = {entry["manager"]: entry["time"] for entry in after["metadata"]["managedFields"]}
    assert times == {"maker": LATER, "one": FIRST}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (None, {("maker", "Update")}),
        ([{}], set()),
        ([], {("maker", "Update")}),
        (
            [
                {
                    "manager": "z",
                    "operation": "Update",
                    "apiVersion": API,
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:spec": {"f:name": {}}},
                }
            ],
            {("z", "Update")},
        ),
        ([{"manager": "z", "operation": "Frob", "apiVersion": API}], {("maker", "Update")}),
        ([{"manager": "z", "operation": "Apply"}], {("maker", "Update")}),
    ],
)
def test_an_update_may_set_managed_fields(sent: Any, expected: set[Any]) -> None:
    live = made({"name": "x"})
    new = copy.deepcopy(live)
    if sent is None:
        del new["metadata"]["managedFields"]
    else:
        new["metadata"]["managedFields"] = sent
    assert set(owners(TRACKER.track(live, new, write("two")))) == expected


def test_only_ten_updaters_are_kept() -> None:
    live = made({})
    for number in range(12):
        spec = {"labels": {f"l{index}": "x" for index in range(number + 1)}}
        live = updated(live, spec, f"m{number:02}", f"2026-01-01T00:00:{number:02}Z")
    assert len(live["metadata"]["managedFields"]) == 10
    assert owners(live)["ancient-changes", "Update"] == {
        "f:spec": {".": {}, "f:labels": {".": {}, "f:l0": {}, "f:l1": {}, "f:l2": {}}}
    }
    assert owners(live)["m03", "Update"] == {"f:spec": {"f:labels": {"f:l3": {}}}}


def test_an_apply_owns_the_named_fields_without_their_parents() -> None:
    after = applied(None, "one", {"nested": {"left": {"a": "1"}}, "labels": {"x": "y"}})
    assert owners(after) == {
        ("one", "Apply"): {"f:spec": {"f:nested": {"f:left": {"f:a": {}}}, "f:labels": {"f:x": {}}}}
    }


@pytest.mark.parametrize(
    ("live", "former", "two", "spec"),
    [
        ({}, {"name": "x"}, {"name": "x", "count": 1}, {"name": "x", "count": 1}),
        ({"count": 1}, {"name": "x"}, {"flag": True}, {"count": 1, "flag": True}),
        ({"tags": ["z"]}, {"tags": ["a", "b"]}, {"tags": ["b"]}, {"tags": ["z", "b"]}),
        (
            {"byName": [{"name": "z"}]},
            {"byName": [{"name": "a", "value": "1"}, {"name": "b"}]},
            {"byName": [{"name": "b"}, {"name": "a"}]},
            {"byName": [{"name": "z"}, {"name": "b"}, {"name": "a"}]},
        ),
        ({}, {"atom": {"a": "1"}}, {"atom": {"b": "2"}}, {"atom": {"b": "2"}}),
        ({}, {"words": ["a", "b"]}, {"words": ["c"]}, {"words": ["c"]}),
        ({}, {"loose": {"x": {"y": 1}}}, {"loose": {"x": {"z": 1}}}, {"loose": {"x": {"z": 1}}}),
        ({"name": "x"}, {"count": 1}, {"count": 1, "name": None}, {"name": None, "count": 1}),
    ],
)
def test_fields_that_an_applier_no_longer_names_are_removed(
    live: Any, former: Any, two: Any, spec: Any
) -> None:
    first = applied(made(live), "one", former)
    copy_before = copy.deepcopy(first)
    assert applied(first, "one", two, force=True)["spec"] == spec
    assert first == copy_before


def test_fields_owned_by_another_applier_stay() -> None:
    live = applied(None, "one", {"name": "x", "byName": [{"name": "a", "value": "1"}]})
    live = applied(live, "two", {"name": "x", "byName": [{"name": "a", "size": 1}]})
    after = applied(live, "one", {"count": 1})
    assert after["spec"] == {"name": "x", "count": 1, "byName": [{"name": "a", "size": 1}]}


def test_a_structure_is_released_with_its_last_field() -> None:
    live = applied(None, "one", {"name": "x", "nested": {"left": {"a": "1"}}, "tags": ["a"]})
    assert applied(live, "one", {"name": "x", "tags": []})["spec"] == {"name": "x"}
    live = applied(live, "two", {"nested": {"left": {"b": "1"}}})
    assert applied(live, "one", {"name": "x"})["spec"] == {
        "name": "x",
        "nested": {"left": {"b": "1"}},
    }


def test_a_structure_that_someone_else_made_is_left_as_null() -> None:
    live = applied(made({"labels": {}}), "one", {"labels": {"a": "1"}})
    assert applied(live, "one", {})["spec"] == {"labels": None}


def test_items_keep_their_order_and_new_ones_follow() -> None:
    live = applied(None, "one", {"byName": [{"name": name} for name in "abcd"]})
    after = applied(live, "two", {"byName": [{"name": name} for name in "xca"]})
    assert [item["name"] for item in after["spec"]["byName"]] == ["b", "x", "c", "d", "a"]


def test_a_conflict_names_field_and_owner() -> None:
    live = made({"name": "x"}, "upd")
    with pytest.raises(Conflict) as refused:
        applied(live, "one", {"name": "y"})
    assert refused.value.message == (
        'Apply failed with 1 conflict: conflict with "upd" using x.dev/v1: .spec.name'
    )
    assert refused.value.details == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "upd" using x.dev/v1',
                "field": ".spec.name",
            }
        ]
    }


def test_conflicts_are_reported_by_owner() -> None:
    live = applied(applied(None, "one", {"name": "x"}), "two", {"count": 1})
    status = {**live, "status": {"phase": "A"}}
    live = stored(TRACKER.track(live, status, write("three", FIRST, "status")))
    wanted = shape({"name": "y", "count": 2}, status={"phase": "B"})
    with pytest.raises(Conflict) as refused:
        TRACKER.apply(live, wanted, write("four"), force=False)
    assert refused.value.message == (
        'Apply failed with 3 conflicts: conflicts with "one":\n- .spec.name\n'
        'conflicts with "three" with subresource "status" using x.dev/v1:\n- .status.phase\n'
        'conflicts with "two":\n- .spec.count'
    )


def test_force_takes_the_field() -> None:
    live = applied(made({"name": "x"}), "one", {"name": "y"}, force=True)
    assert live["spec"] == {"name": "y"}
    assert owners(live)["one", "Apply"] == {"f:spec": {"f:name": {}}}
    assert owners(live)["maker", "Update"] == {"f:spec": {}}


def test_a_shared_value_has_two_owners_and_is_no_change() -> None:
    live = applied(None, "one", {"name": "x"})
    after = applied(live, "two", {"name": "x"}, time=LATER)
    assert set(owners(after)) == {("one", "Apply"), ("two", "Apply")}
    assert "time" not in after["metadata"]["managedFields"][0]


def test_a_repeated_apply_returns_the_object_itself() -> None:
    live = applied(None, "one", {"name": "x", "byName": [{"name": "a"}], "nested": {}})
    again = TRACKER.apply(live, shape(live["spec"]), write("one", LATER), force=False)
    assert again is live


def test_an_object_without_owners_belongs_to_before_first_apply() -> None:
    live = stored(shape({"name": "x"}))
    with pytest.raises(Conflict, match=r'conflict with "before-first-apply" using x\.dev'):
        applied(live, "one", {"name": "y"})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": 5}, ".spec.name: expected string, got &value.valueUnstructured{Value:5}"),
        ({"count": "x"}, ".spec.count: expected numeric (int or float), got string"),
        ({"flag": "yes"}, ".spec.flag: expected boolean, got &{yes}"),
        ({"tags": "x"}, ".spec.tags: expected list, got &{x}"),
        ({"nested": []}, ".spec.nested: expected map, got &{[]}"),
        ({"nothing": 1}, ".spec.nothing: field not declared in schema"),
        ({"tags": ["a", "a"]}, '.spec.tags: duplicate entries for key [="a"]'),
        (
            {"byName": [{"value": "v"}]},
            ".spec.byName: element 0: associative list with keys has an element that omits all "
            'key fields ["name"] (and doesn\'t have default values for any key fields)',
        ),
        (
            {"byName": [None]},
            ".spec.byName: element 0: associative list with keys may not have a null element",
        ),
        (
            {"name": True, "labels": {"a": 1.5}},
            "errors:\n  .spec.name: expected string, got &value.valueUnstructured{Value:true}\n"
            "  .spec.labels.a: expected string, got &value.valueUnstructured{Value:1.5}",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(spec: Any, message: str) -> None:
    with pytest.raises(ApplyFailed) as refused:
        TRACKER.apply(None, shape(spec), write("one"), force=False)
    start = "failed to create typed patch object (n/alpha; x.dev/v1, Kind=Shape): "
    assert refused.value.message == start + message


@pytest.mark.parametrize("entries", [[], [{"manager": "z"}]])
def test_an_apply_may_not_set_managed_fields(entries: Any) -> None:
    wanted = shape({})
    wanted["metadata"]["managedFields"] = entries
    with pytest.raises(BadRequest, match=r"metadata\.managedFields must be nil"):
        TRACKER.apply(None, wanted, write("one"), force=False)


LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def client_side(spec: Any, now: Any) -> Any:
    """An object that `kubectl apply` created from `spec`, and that others changed to `now`."""
    created = shape(now)
    created["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(shape(spec))}
    return stored(TRACKER.track(None, created, write("kubectl-client-side-apply")))


def test_kubectl_adopts_fields_that_it_applied_client_side() -> None:
    live = client_side({"name": "x"}, {"name": "x"})
    after = applied(live, "kubectl", {"name": "y"})
    assert after["spec"] == {"name": "y"}
    assert json.loads(after["metadata"]["annotations"][LAST_APPLIED]) == shape({"name": "y"})


def test_kubectl_does_not_adopt_fields_changed_since() -> None:
    live = client_side({"name": "x", "count": 1}, {"name": "z", "count": 1})
    with pytest.raises(Conflict) as refused:
        applied(live, "kubectl", {"name": "y", "count": 2})
    assert [cause["field"] for cause in (refused.value.details or {})["causes"]] == [".spec.name"]


def test_only_kubectl_takes_over_from_kubectl() -> None:
    with pytest.raises(Conflict):
        applied(client_side({"name": "x"}, {"name": "x"}), "someone", {"name": "y"})


OLD = "x.dev/v1alpha1"
ALPHA = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"title": {"type": "string"}}}},
}


def converted(document: Any, api_version: str) -> Any:
    """`spec.name` of v1 is `spec.title` of v1alpha1."""
    text, two = ("name", "title") if api_version == OLD else ("title", "name")
    spec = {
        two if key == text else key: value for key, value in (document.get("spec") or {}).items()
    }
    return {**document, "apiVersion": api_version, "spec": spec}


VERSIONS = Tracker({API: Types.of_schema(SCHEMA), OLD: Types.of_schema(ALPHA)}, converted)


def test_an_owner_in_another_version_loses_the_field_under_its_name_there() -> None:
    old = {"apiVersion": OLD, "kind": "Shape", "metadata": {"name": "a"}, "spec": {"title": "x"}}
    live = VERSIONS.apply(None, old, Write("one", OLD, FIRST), force=False)
    live = stored(converted(live, API))
    with pytest.raises(Conflict, match=r'conflict with "one": \.spec\.title'):
        VERSIONS.apply(live, shape({"name": "y"}), write("two"), force=False)
    after = VERSIONS.track(live, {**live, "spec": {"name": "y"}}, write("two"))
    assert owners(after) == {("two", "Update"): {"f:spec": {"f:name": {}}}}


def test_an_applier_that_moves_to_another_version_keeps_one_entry() -> None:
    old = {"apiVersion": OLD, "kind": "Shape", "metadata": {"name": "a"}, "spec": {"title": "x"}}
    live = stored(converted(VERSIONS.apply(None, old, Write("one", OLD, FIRST), force=False), API))
    wanted = {**shape({}), "metadata": {"name": "a", "labels": {"x": "y"}}}
    after = VERSIONS.apply(live, wanted, write("one"), force=False)
    assert after["spec"] == {}
    labels: dict[str, Any] = {"f:metadata": {"f:labels": {"f:x": {}}}, "f:spec": {}}
    assert owners(after) == {("one", "Apply"): labels}


def test_an_object_that_the_version_applied_last_cannot_hold_is_refused() -> None:
    old = {"apiVersion": OLD, "kind": "Shape", "metadata": {"name": "a"}, "spec": {"title": "x"}}
    live = stored(converted(VERSIONS.apply(None, old, Write("one", OLD, FIRST), force=False), API))
    text = (
        "failed to prune fields: failed to convert merged object to last applied version: "
        r"\.spec\.count: field not declared in schema"
    )
    with pytest.raises(ApplyFailed, match=text):
        VERSIONS.apply(live, shape({"count": 1}), write("one"), force=True)


def test_an_object_that_an_owners_version_cannot_hold_is_refused() -> None:
    old = {"apiVersion": OLD, "kind": "Shape", "metadata": {"name": "a"}, "spec": {"title": "x"}}
    live = stored(converted(VERSIONS.apply(None, old, Write("one", OLD, FIRST), force=False), API))
    wanted = shape({"count": 1})
    with pytest.raises(ApplyFailed, match=r"failed to convert new object: \.spec\.count: field"):
        VERSIONS.apply(live, wanted, write("two"), force=False)
    after = VERSIONS.track(live, {**live, "spec": {"name": "x", "count": 1}}, write("two"))
    assert "managedFields" not in after["metadata"]


STRUCTS: dict[str, Any] = {
    "Thing": {
        "data": {"t": "{}string"},
        "spec": {"t": "Spec"},
        "status": {"t": "Status"},
    },
    "Spec": {
        "ports": {"t": "[]Port", "lt": "map", "lk": ["port", "protocol"]},
        "selector": {"t": "{}string", "mt": "atomic"},
        "finalizers": {"t": "[]string", "lt": "set"},
        "args": {"t": "[]string"},
        "inner": {"t": "Spec"},
    },
    "Port": {"port": {"t": "int32"}, "protocol": {"t": "string", "d": "TCP"}},
    "Status": {"phase": {"t": "string"}},
}
THINGS = Tracker(
    {"v1": Types.of_struct(STRUCTS, "Thing", zero={"spec": {}, "status": {"phase": ""}})}
)


def thing(**more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}, **more}


def test_a_core_kind_merges_as_its_struct_says() -> None:
    spec = {
        "ports": [{"port": 80}],
        "selector": {"a": "b"},
        "finalizers": ["f"],
        "args": ["x"],
        "inner": {"args": []},
    }
    after = THINGS.apply(
        None, thing(data={"k": "v"}, spec=spec), Write("one", "v1", FIRST), force=False
    )
    assert owners(after)["one", "Apply"] == {
        "f:data": {"f:k": {}},
        "f:spec": {
            "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
            "f:selector": {},
            "f:finalizers": {'v:"f"': {}},
            "f:args": {},
            "f:inner": {"f:args": {}},
        },
    }


def test_the_zero_value_of_a_core_kind_owns_nothing() -> None:
    new = thing(spec={"args": ["x"]}, status={"phase": ""})
    after = THINGS.track(None, new, Write("one", "v1", FIRST))
    assert owners(after) == {("one", "Update"): {"f:spec": {"f:args": {}}}}


def test_a_core_kind_holds_no_nulls() -> None:
    live = stored(
        THINGS.apply(None, thing(data={"k": "v"}), Write("one", "v1", FIRST), force=False)
    )
    after = THINGS.apply(live, thing(), Write("one", "v1", LATER), force=False)
    assert "data" not in after


def test_a_key_that_a_struct_always_writes_is_zero_where_an_item_lacks_it() -> None:
    spec = {"ports": [{"protocol": "UDP"}]}
    after = THINGS.apply(None, thing(spec=spec), Write("one", "v1", FIRST), force=False)
    item: dict[str, Any] = {'k:{"port":0,"protocol":"UDP"}': {".": {}, "f:protocol": {}}}
    assert owners(after)["one", "Apply"] == {"f:spec": {"f:ports": item}}


def test_metadata_of_a_wrong_type_is_no_configuration() -> None:
    wrong = {**shape({}), "metadata": {"name": 1}}
    with pytest.raises(ApplyFailed, match=r"\.metadata\.name: expected string"):
        VERSIONS.apply(None, wrong, write("one"), force=False)


def test_an_unchanged_field_set_of_a_manager_is_reused() -> None:
    live = made({"name": "x", "count": 1})
    again = updated(live, {"name": "y", "count": 1}, "maker", LATER)
    (before,), (after,) = (item["metadata"]["managedFields"] for item in (live, again))
    assert after["time"] == LATER
    assert after["fieldsV1"] is before["fieldsV1"]
    less = updated(again, {"name": "z"}, "maker", LATER)
    assert owners(less) == {("maker", "Update"): {"f:spec": {".": {}, "f:name": {}}}}
