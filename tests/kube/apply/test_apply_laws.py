"""Laws of server-side apply that hold for all configurations."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kapy.kube.apply.managers import encode_entries, parse_entries, read
from kapy.kube.patch.merge_patch import is_equal_json
from tests.kube.apply.shapes import LATER, TRACKER, applied, made, owners, shape, write

WORD = st.sampled_from("xyz")
PAIR = st.fixed_dictionaries({}, optional={"a": WORD, "b": WORD})
ITEM = st.fixed_dictionaries(
    {"name": st.sampled_from("abc")}, optional={"value": WORD, "size": st.integers(0, 2)}
)
BRANCHES = {
    "name": WORD,
    "count": st.integers(0, 2),
    "nested": st.fixed_dictionaries({}, optional={"left": PAIR, "right": PAIR}),
    "labels": st.dictionaries(st.sampled_from("abc"), WORD, max_size=3),
    "atom": PAIR,
    "words": st.lists(WORD, max_size=2),
    "tags": st.lists(WORD, max_size=3, unique=True),
    "byName": st.lists(ITEM, max_size=3, unique_by=lambda item: item["name"]),
}
SPECS = st.fixed_dictionaries({}, optional=BRANCHES)
HALVES = st.tuples(
    st.fixed_dictionaries({}, optional={key: BRANCHES[key] for key in list(BRANCHES)[:4]}),
    st.fixed_dictionaries({}, optional={key: BRANCHES[key] for key in list(BRANCHES)[4:]}),
)


def filled(spec: Any) -> Any:
    """A spec without empty containers: ownership of those follows rules of their own."""
    if isinstance(spec, dict):
        fields = {key: filled(value) for key, value in spec.items()}
        return {key: value for key, value in fields.items() if value not in ({}, [])}
    return spec


FILLED = SPECS.map(filled).map(lambda spec: spec or {"flag": True})


def without_times(document: Any) -> Any:
    entries = [
        {key: value for key, value in entry.items() if key != "time"}
        for entry in document["metadata"].get("managedFields", [])
    ]
    entries.sort(key=lambda entry: (entry["manager"], entry["operation"]))
    return document["spec"], entries


@given(SPECS, SPECS)
def test_an_apply_is_idempotent(live: Any, spec: Any) -> None:
    once = applied(made(live), "one", spec, force=True)
    assert TRACKER.apply(once, shape(spec), write("one", LATER), force=False) is once


@given(SPECS, HALVES)
def test_disjoint_appliers_commute(live: Any, halves: tuple[Any, Any]) -> None:
    value, two = halves
    start = made(live)
    forwards = applied(applied(start, "one", value, force=True), "two", two, force=True)
    backwards = applied(applied(start, "two", two, force=True), "one", value, force=True)
    assert is_equal_json(without_times(forwards)[0], without_times(backwards)[0])
    assert owners(forwards) == owners(backwards)


@given(FILLED, FILLED, FILLED)
def test_fields_owned_by_others_survive_an_owner_that_releases_them(
    live: Any, first: Any, two: Any
) -> None:
    both = applied(applied(made(live), "one", first, force=True), "two", two, force=True)
    after = applied(both, "one", {}, force=True)
    assert owners(after).get(("two", "Apply")) == owners(both).get(("two", "Apply"))
    assert TRACKER.apply(after, shape(two), write("two"), force=False)["spec"] == after["spec"]


@given(SPECS, SPECS)
def test_applied_fields_are_present(live: Any, spec: Any) -> None:
    after = applied(made(live), "one", spec, force=True)
    again = applied(after, "two", spec)
    assert is_equal_json(again["spec"], after["spec"])


@given(SPECS, SPECS, SPECS)
def test_no_two_managers_own_a_field_that_an_update_changed(first: Any, two: Any, new: Any) -> None:
    live = applied(applied(None, "one", first), "two", two, force=True)
    after = TRACKER.track(live, {**live, "spec": new}, write("three"))
    again = TRACKER.apply(after, shape(new), write("four"), force=False)
    assert is_equal_json(again["spec"], new)


@given(SPECS, SPECS)
def test_managed_fields_survive_a_round_trip(live: Any, spec: Any) -> None:
    entries = applied(made(live), "one", spec, force=True)["metadata"]["managedFields"]
    sent = json.loads(json.dumps(entries))
    managed_entries = parse_entries(sent)
    assert managed_entries is not None
    assert encode_entries(managed_entries) == entries
    assert encode_entries(read(entries)) == entries
