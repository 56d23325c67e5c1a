"""Lists and watches: order, selectors, pages, resuming, bookmarks."""

from __future__ import annotations

import pytest

from kapy.apiserver.store.watcher import LIMIT, Watcher, WatchEvent
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, Asking, config_map, gizmo, running, taken


async def _filled(asking: Asking) -> None:
    for name, labels in (("b", {"x": "1"}), ("a", {"x": "2"}), ("c", {})):
        await asking.create(CONFIG_MAPS, config_map(name, labels=labels))


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({}, ["a", "b", "c"]),
        ({"labelSelector": "x=1"}, ["b"]),
        ({"labelSelector": "x"}, ["a", "b"]),
        ({"labelSelector": "!x"}, ["c"]),
        ({"labelSelector": "x notin (2)"}, ["b", "c"]),
        ({"fieldSelector": "metadata.name=c"}, ["c"]),
        ({"fieldSelector": "metadata.name!=c"}, ["a", "b"]),
    ],
)
async def test_lists_are_in_order_and_selected(query: dict[str, str], names: list[str]) -> None:
    async with running() as asking:
        await _filled(asking)
        assert await asking.names(CONFIG_MAPS, **query) == names


async def test_a_custom_field_can_be_selected() -> None:
    async with running() as asking:
        await asking.create(GIZMOS, gizmo("a", color="red"))
        await asking.create(GIZMOS, gizmo("b", color="blue"))
        assert await asking.names(GIZMOS, fieldSelector="spec.color=blue") == ["b"]
        status, _ = await asking.ask("GET", GIZMOS, fieldSelector="spec.size=1")
        assert status == 400


async def test_all_pages_of_a_list_have_the_revision_of_the_first() -> None:
    async with running() as asking:
        await _filled(asking)
        page = await asking.get(CONFIG_MAPS, limit="1")
        assert page["metadata"]["remainingItemCount"] == 2
        await asking.create(CONFIG_MAPS, config_map("aa"))
        await asking.delete(f"{CONFIG_MAPS}/c")
        rest = await asking.get(CONFIG_MAPS, **{"continue": page["metadata"]["continue"]})
        assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c"]


async def test_a_list_of_an_exact_version_shows_that_revision() -> None:
    async with running() as asking:
        await _filled(asking)
        version = (await asking.get(CONFIG_MAPS))["metadata"]["resourceVersion"]
        await asking.delete(f"{CONFIG_MAPS}/a")
        query = {"resourceVersion": version, "resourceVersionMatch": "Exact"}
        assert await asking.names(CONFIG_MAPS, **query) == ["a", "b", "c"]


async def test_a_watch_reports_changes() -> None:
    async with running() as asking, asking.watching(CONFIG_MAPS) as stream:
        await asking.create(CONFIG_MAPS, config_map("a"))
        await asking.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "y"}})
        await asking.delete(f"{CONFIG_MAPS}/a")
        assert await taken(stream, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_a_watch_resumes_where_it_broke_off() -> None:
    async with running() as asking:
        first = await asking.create(CONFIG_MAPS, config_map("a"))
        await asking.create(CONFIG_MAPS, config_map("b"))
        await asking.delete(f"{CONFIG_MAPS}/a")
        version = first["metadata"]["resourceVersion"]
        async with asking.watching(CONFIG_MAPS, resourceVersion=version) as stream:
            assert await taken(stream, 2) == [("ADDED", "b"), ("DELETED", "a")]


async def test_a_watch_from_too_long_ago_is_expired() -> None:
    async with running() as asking:
        first = await asking.create(CONFIG_MAPS, config_map("a"))
        await asking.create(CONFIG_MAPS, config_map("b"))
        asking.server.store.history.compact(asking.server.store.revision)
        version = first["metadata"]["resourceVersion"]
        async with asking.watching(CONFIG_MAPS, resourceVersion=version) as stream:
            event = await anext(stream)
            assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
        status, body = await asking.ask(
            "GET", CONFIG_MAPS, resourceVersion=version, resourceVersionMatch="Exact"
        )
        assert (status, body["reason"]) == (410, "Expired")


async def test_a_watch_from_the_version_of_another_server_is_expired() -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
        later = str(asking.server.store.revision + 1)
        async with asking.watching(CONFIG_MAPS, resourceVersion=later) as stream:
            event = await anext(stream)
            assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


async def test_objects_enter_and_leave_a_selected_watch() -> None:
    async with running() as asking:
        await asking.create(CONFIG_MAPS, config_map("a"))
        async with asking.watching(CONFIG_MAPS, labelSelector="x=1", resourceVersion="0") as stream:
            for labels in ({"x": "1"}, {"x": "1", "y": "2"}, {"x": None}):
                await asking.merge(f"{CONFIG_MAPS}/a", {"metadata": {"labels": labels}})
            assert await taken(stream, 3) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]


async def test_initial_events_end_with_a_bookmark() -> None:
    async with running() as asking:
        await _filled(asking)
        query = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
        }
        async with asking.watching(CONFIG_MAPS, **query) as stream:
            assert await taken(stream, 3) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
            mark = await anext(stream)
            assert mark["type"] == "BOOKMARK"
            assert mark["object"]["metadata"]["annotations"] == {
                "k8s.io/initial-events-end": "true"
            }


async def test_requested_bookmarks_report_the_current_version() -> None:
    async with (
        running() as asking,
        asking.watching(CONFIG_MAPS, allowWatchBookmarks="true") as stream,
    ):
        beginning = await anext(stream)
        assert beginning["object"]["metadata"]["annotations"] == {
            "k8s.io/initial-events-end": "true"
        }
        await asking.create(GIZMOS, gizmo("a"))
        mark = await anext(stream)
        assert mark["type"] == "BOOKMARK"
        now = str(asking.server.store.revision)
        assert mark["object"]["metadata"]["resourceVersion"] == now


async def test_a_watch_ends_when_its_time_is_over() -> None:
    async with running() as asking:
        stream = await asking.get(CONFIG_MAPS, watch="true", timeoutSeconds="5")
        assert [event async for event in stream] == []


async def test_a_reader_that_is_too_slow_is_cut() -> None:
    feed = Watcher("", "", None)
    for number in range(LIMIT + 1):
        feed.push(WatchEvent("ADDED", {}, number))
    assert feed.overflown
    assert await feed.next() is None


async def test_closing_a_server_ends_its_watches() -> None:
    async with running() as asking:
        stream = await asking.get(CONFIG_MAPS, watch="true")
        asking.server.close()
        assert [event async for event in stream] == []


async def test_a_table_shows_the_columns_of_a_definition() -> None:
    from kapy.kube.http import Request

    async with running() as asking:
        await asking.create(GIZMOS, gizmo("a", color="blue"))
        accept = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
        reply = await asking.transport(Request("GET", GIZMOS, {}, accept))
        assert isinstance(reply.body, dict)
        assert [definition["name"] for definition in reply.body["columnDefinitions"]] == [
            "Name",
            "Color",
        ]
        assert [row["cells"] for row in reply.body["rows"]] == [["a", "blue"]]
