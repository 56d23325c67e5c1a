"""Laws of server-side apply where there are several versions, no schema, or defaults in keys."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.apply import Tracker, Types, Write
from kapy.kube.errors import Conflict
from kapy.kube.patch.merge_patch import is_equal_json
from tests.kube.apply.shapes import FIRST, TRACKER, applied, made, shape, write

OLD, NEW = "x.dev/v1alpha1", "x.dev/v1beta1"
STRING = {"type": "string"}
NAMES = {OLD: {"host": "hostName", "port": "portNumber"}, NEW: {}}
WORD = st.sampled_from("xyz")
BOTH = st.fixed_dictionaries({}, optional={"host": WORD, "port": WORD, "note": WORD})


def types(version: str) -> Types:
    fields = [NAMES[version].get(name, name) for name in ("host", "port", "note")]
    spec = {"type": "object", "properties": dict.fromkeys(fields, STRING)}
    return Types.of_schema({"type": "object", "properties": {"spec": spec}})


def seen(document: Any, version: str) -> Any:
    """An object in another version, in which fields have other names."""
    back = {name: key for key, name in NAMES[document["apiVersion"]].items()}
    there = NAMES[version]
    spec = {
        there.get(back.get(name, name), back.get(name, name)): value
        for name, value in (document.get("spec") or {}).items()
    }
    return {**document, "apiVersion": version, **({"spec": spec} if "spec" in document else {})}


VERSIONED = Tracker({name: types(name) for name in NAMES}, seen)


def thing(version: str, spec: Any) -> Any:
    document = {"apiVersion": NEW, "kind": "Thing", "metadata": {"name": "a"}, "spec": spec}
    return seen(document, version)


def put(live: Any, version: str, manager: str, spec: Any, *, force: bool = False) -> Any:
    """The object in `version` after `manager` applied a spec (in NEW's words) through it."""
    before = None if live is None else seen(live, version)
    after = VERSIONED.apply(
        before, thing(version, spec), Write(manager, version, FIRST), force=force
    )
    return {**after, "metadata": {**after["metadata"], "uid": "u"}}


@given(BOTH, st.sampled_from([OLD, NEW]), st.sampled_from([OLD, NEW]))
def test_applying_the_same_through_another_version_changes_nothing(
    spec: Any, first: str, second: str
) -> None:
    once = put(None, first, "one", spec)
    again = put(once, second, "one", spec)
    assert is_equal_json(seen(again, NEW)["spec"], seen(once, NEW)["spec"])
    third = put(again, second, "one", spec)
    assert is_equal_json(third, again)


@given(BOTH, BOTH, st.sampled_from([OLD, NEW]), st.sampled_from([OLD, NEW]))
def test_a_conflict_is_detected_in_every_version(first: Any, two: Any, a: str, b: str) -> None:
    live = put(None, a, "one", first)
    contested = any(first[name] != two[name] for name in first.keys() & two.keys())
    try:
        after = put(live, b, "two", two)
    except Conflict:
        assert contested
        after = put(live, b, "two", two, force=True)
    else:
        assert not contested
    assert is_equal_json(seen(after, NEW)["spec"], {**first, **two})


@given(BOTH, BOTH, st.sampled_from([OLD, NEW]), st.sampled_from([OLD, NEW]))
def test_releasing_fields_in_another_version_keeps_those_of_others(
    first: Any, two: Any, a: str, b: str
) -> None:
    both = put(put(None, a, "one", first), b, "two", two, force=True)
    after = put(both, b, "one", {})
    expected = {name: value for name, value in {**first, **two}.items() if name in two}
    assert is_equal_json(seen(after, NEW).get("spec") or {}, expected)


PORTS = st.lists(
    st.fixed_dictionaries(
        {"port": st.integers(1, 3)}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}
    ),
    max_size=4,
    unique_by=lambda item: (item["port"], item.get("protocol", "TCP")),
)


@given(PORTS, PORTS)
def test_an_omitted_list_key_has_its_default(first: Any, two: Any) -> None:
    live = applied(applied(None, "one", {"byPort": first}), "two", {"byPort": two}, force=True)
    spelled = [{"protocol": "TCP", **item} for item in first]
    again = TRACKER.apply(live, shape({"byPort": spelled}), write("one"), force=True)

    def keys(items: Any) -> set[Any]:
        return {(item["port"], item.get("protocol", "TCP")) for item in items}

    port = (again.get("spec") or {}).get("byPort") or []
    assert keys(port) == keys(first) | keys(two)
    assert len(port) == len(keys(port))


DEDUCED = Tracker({"x.dev/v1": Types.deduce()})
LEAF = st.one_of(WORD, st.integers(0, 2), st.booleans(), st.lists(WORD, max_size=2))
TREE = st.dictionaries(
    st.sampled_from("abc"),
    st.recursive(LEAF, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1)),
    max_size=3,
)


@given(TREE, TREE)
def test_without_a_schema_an_apply_is_idempotent_too(live: Any, spec: Any) -> None:
    start = DEDUCED.track(None, shape(live), write("maker"))
    start = {**start, "metadata": {**start["metadata"], "uid": "u"}}
    once = DEDUCED.apply(start, shape(spec), write("one"), force=True)
    once = {**once, "metadata": {**once["metadata"], "uid": "u"}}
    assert DEDUCED.apply(once, shape(spec), write("one"), force=False) is once


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["x", "y", "z"])), max_size=6))
def test_the_last_of_many_applies_wins(turns: list[tuple[str, str]]) -> None:
    live = made({"name": "x"})
    for manager, value in turns:
        live = applied(live, manager, {"name": value}, force=True)
    assert live["spec"]["name"] == (turns[-1][1] if turns else "x")
