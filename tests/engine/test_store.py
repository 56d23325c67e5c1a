"""Whatever order news arrives in, a store ends with the truth and never goes back in time."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapy._aio.cooperation import STEPS_PER_TURN
from kapy.client.stream import Event
from kapy.engine.store import Change, Store, is_gone, version_of
from kapy.kube import Document, Key
from kapy.kube.packed_json import Packer
from kapy.kube.selectors import parse_labels

Write = tuple[str, str]


class History:
    """All states of a server's collection: each write makes the next resourceVersion."""

    def __init__(self, writes: list[Write]) -> None:
        self.events: list[Event] = []
        self.states: list[dict[str, Document]] = [{}]
        uids = 0
        for version, (verb, name) in enumerate(writes, start=1):
            objects = dict(self.states[-1])
            old = objects.get(name)
            if verb == "delete":
                if old is not None:
                    del objects[name]
                    self.events.append(Event("DELETED", self._document(old, version, "")))
            else:
                uids += old is None
                uid = old["metadata"]["uid"] if old else f"u{uids}"
                new = self._document({"metadata": {"name": name, "uid": uid}}, version, verb)
                objects[name] = new
                self.events.append(Event("MODIFIED" if old else "ADDED", new))
            self.states.append(objects)

    def _document(self, base: Document, version: int, label: str) -> Document:
        metadata = {**base["metadata"], "resourceVersion": str(version)}
        if label:
            metadata["labels"] = {"app": label}
        return {"metadata": metadata}

    def labelled(self, label: str) -> tuple[list[Event], list[dict[str, Document]]]:
        """The events and states as a watch with a label selector shows them."""

        def has(document: Document | None) -> bool:
            labels = (document or {"metadata": {}})["metadata"].get("labels") or {}
            return bool(labels.get("app") == label)

        events, entries = [], dict[str, Document]()
        for event in self.events:
            name = event.document["metadata"]["name"]
            if event.type != "DELETED" and has(event.document):
                events.append(Event("MODIFIED" if name in entries else "ADDED", event.document))
                entries[name] = event.document
            elif entries.pop(name, None) is not None:
                events.append(Event("DELETED", event.document))
        states = [
            {name: document for name, document in state.items() if has(document)}
            for state in self.states
        ]
        return events, states


writes = st.lists(
    st.tuples(st.sampled_from(["red", "blue", "delete"]), st.sampled_from("abc")), max_size=12
)


@settings(max_examples=300)
@given(writes, st.data())
def test_lists_events_and_answers_may_come_in_any_order(done: list[Write], data: Any) -> None:
    history = History(done)
    label = data.draw(st.sampled_from(["", "red"]))
    events, states = history.labelled(label) if label else (history.events, history.states)
    store = Store(parse_labels(f"app={label}") if label else None)
    changes: list[Change] = []
    store.subscribe(changes.append)
    answers = (
        data.draw(st.lists(st.sampled_from(history.events), max_size=6))
        if done and history.events
        else []
    )
    watched = 0
    store.load(list(states[0].values()), "0")
    for step in data.draw(st.lists(st.sampled_from("walp"), max_size=20)):
        if step == "w" and watched < len(events):
            store.take(events[watched])
            watched += 1
        elif step == "p":
            pack(store)
        elif step == "a" and answers:
            store.observe(answers.pop().document)
        elif step == "l":
            version = data.draw(st.integers(0, len(done)))
            progress = store.progress
            if store.load(list(states[version].values()), str(version)):
                watched = sum(version_of(entry.document) <= version for entry in events)
            else:
                assert version < progress
    for event in events[watched:]:
        store.take(event)
    for answer in answers:
        store.observe(answer.document)
    truth = {Key("", name): document for name, document in states[-1].items()}
    if data.draw(st.booleans()):
        pack(store)
    assert store.objects == truth
    _never_back_in_time(changes)
    _a_closed_account(changes, truth)


def pack(store: Store) -> None:
    for _ in range(2):  # a pass packs what came before the one before it
        list(store.objects.pack_idle(Packer()))


def _never_back_in_time(changes: list[Change]) -> None:
    last: defaultdict[str, int] = defaultdict(int)
    for change in changes:
        if change.new is not None:
            metadata = change.new["metadata"]
            version = int(metadata["resourceVersion"])
            assert version > last[metadata["uid"]]
            last[metadata["uid"]] = version


def _a_closed_account(changes: list[Change], truth: dict[Key, Document]) -> None:
    """Replaying the changes gives what the store holds: each `old` is the `new` before it."""
    entries: dict[Key, Document] = {}
    for change in changes:
        key = Key.of(change.document)
        assert entries.pop(key, None) == change.old
        if change.new is not None:
            entries[key] = change.new
    assert entries == truth


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"metadata": {}}, False),
        ({"metadata": {"deletionTimestamp": "t"}}, True),
        ({"metadata": {"deletionTimestamp": ""}}, True),
        ({"metadata": {"deletionTimestamp": "t", "finalizers": ["x"]}}, False),
        ({"metadata": {"deletionTimestamp": "t", "finalizers": []}}, True),
        ({"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 30}}, False),
        ({"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}}, True),
        ({"metadata": {"deletionTimestamp": "t"}, "spec": {"finalizers": ["kubernetes"]}}, False),
    ],
)
def test_a_deleted_object_without_finalizers_is_gone(document: Document, expected: bool) -> None:
    assert is_gone(document) is expected


def test_a_former_object_of_the_same_name_is_removed_with_its_successor() -> None:
    for before in (False, True):
        store = Store(parse_labels("app=red"))
        store.load([], "0")
        if before:
            store.observe(namesake("u2", 12, "blue"))  # our own write: it is not selected any more
        store.take(Event("ADDED", namesake("u1", 1, "red")))
        if not before:
            store.observe(namesake("u2", 12, "blue"))
        store.load([namesake("u2", 11, "red")], "11")
        assert not store.objects


def test_a_former_object_of_the_same_name_does_not_return_with_a_late_event() -> None:
    store = Store(parse_labels("app=red"))
    changes: list[Change] = []
    store.subscribe(changes.append)
    store.load([], "0")
    for document in (namesake("u1", 1, "red"), namesake("u2", 3, "blue")):
        store.observe(document)
    store.take(Event("ADDED", namesake("u1", 1, "red")))
    store.take(Event("DELETED", namesake("u1", 2, "red")))
    assert [change.new is None for change in changes] == [False, True]


def namesake(uid: str, version: int, app: str) -> Document:
    labels = {"app": app}
    named = {"name": "b", "uid": uid, "resourceVersion": str(version), "labels": labels}
    return {"metadata": named}


def entry(version: int, uid: str, name: str = "x") -> Document:
    return {"metadata": {"name": name, "uid": uid, "resourceVersion": str(version)}}


def test_own_writes_are_known_between_a_restore_of_the_server_and_the_next_list() -> None:
    store = Store()
    store.load([entry(1000, "a"), entry(1001, "b", "y"), entry(1002, "c", "z")], "1002")
    store.rewind()
    store.observe(entry(12, "d", "new"))
    store.observe(entry(13, "a"))
    assert {key.name: version_of(document) for key, document in store.objects.items()} == {
        "new": 12,
        "x": 13,
        "y": 1001,
        "z": 1002,
    }
    assert store.load([entry(12, "d", "new"), entry(13, "a"), entry(9, "b", "y")], "20")
    assert {key.name: version_of(document) for key, document in store.objects.items()} == {
        "new": 12,
        "x": 13,
        "y": 9,
    }
    store.observe(entry(11, "d", "new"))
    assert version_of(store.objects[Key("", "new")]) == 12


def test_the_newest_list_is_right_after_a_restore() -> None:
    """The server has reached the known version again before the list."""
    store = Store()
    store.load([entry(1000, "a")], "1000")
    assert store.load([entry(990, "a"), entry(995, "b", "y")], "1005")
    assert {version_of(document) for document in store.objects.values()} == {990, 995}


def test_a_restored_server_deletes_nothing_that_it_still_has() -> None:
    store = Store()
    store.load([entry(1000, "a"), entry(1001, "b", "y")], "1001")
    changes: list[Change] = []
    store.subscribe(lambda change: changes.append(change))
    changes.clear()
    store.rewind()
    store.load([entry(10, "a")], "12")
    assert [(change.old is None, change.new is None) for change in changes] == [
        (False, False),
        (False, True),
    ]


async def test_other_tasks_run_while_a_long_list_is_taken_in() -> None:
    store, turns = Store(), 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += not store.is_synced

    async with asyncio.TaskGroup() as group:
        counting = group.create_task(count_turns())
        assert await store.replace([entry(n, f"u{n}", f"x{n}") for n in range(1, 1001)], "1000")
        counting.cancel()
    assert turns > 900 // STEPS_PER_TURN
    assert len(store.objects) == 1000


@settings(max_examples=200)
@given(writes, st.data())
def test_answers_may_come_while_a_list_is_taken_in(done: list[Write], data: Any) -> None:
    """The list is as of its version: what an own write answers meanwhile is newer, and stays."""
    history = History(done)
    store = Store()
    first, version = sorted(data.draw(st.tuples(*[st.integers(0, len(done))] * 2)))
    store.load(list(history.states[first].values()), str(first))
    answers = [event for event in history.events if version_of(event.document) > version]
    for _ in store._steps(list(history.states[version].values()), str(version)):
        if answers and data.draw(st.booleans()):
            store.observe(answers.pop(0).document)
    for event in history.events:
        if version_of(event.document) > version:
            store.take(event)
    assert store.objects == {Key("", name): item for name, item in history.states[-1].items()}
