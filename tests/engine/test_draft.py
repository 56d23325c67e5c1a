"""The writes of a draft, and its conflicts with other writers."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest
from msgspec import field

from kapy._aio.clock import loop_clock
from kapy.client.client import Client
from kapy.engine.draft import Draft
from kapy.engine.runtime import Runtime
from kapy.kube import Document, Key
from kapy.kube.errors import Conflict, NotFound
from kapy.kube.http import Request
from kapy.kube.meta import Object, OwnerReference
from kapy.kube.model import Model
from kapy.kube.names import Resource
from tests.engine.fake_server import WIDGETS, FakeServer, widget

KEY = Key("default", "a")


class Condition(Model):
    type: str
    status: str
    reason: str = ""


class Spec(Model):
    size: int | None = None
    colour: str = "red"
    tags: dict[str, str] = field(default_factory=dict)


class Status(Model):
    phase: str | None = None
    ready: bool = False
    conditions: list[Condition] = field(default_factory=list)


class Widget(Object):
    RESOURCE: ClassVar[Resource] = WIDGETS

    spec: Spec = field(default_factory=Spec)
    status: Status = field(default_factory=Status)


class Setting:
    def __init__(self, **document: Any) -> None:
        self.server = FakeServer()
        self.patches: list[tuple[str, Document]] = []
        self.client = Client(self._note)
        self.draft = Draft(self.client, Widget, self.server.put(widget("a", **document)))
        self.mine = self.draft.object

    async def _note(self, request: Request) -> Any:
        if request.method == "PATCH":
            assert isinstance(request.body, dict)
            self.patches.append((request.path.split("/")[-1], request.body))
        return await self.server(request)

    @property
    def stored(self) -> Document:
        return self.server.objects[("default", "a")]

    def others_write(self, **parts: Any) -> None:
        self.server.put({**self.stored, **parts})

    def others_change_metadata(self, **parts: Any) -> None:
        self.others_write(metadata={**self.stored["metadata"], **parts})


async def test_an_unchanged_draft_is_not_written() -> None:
    here = Setting(spec={"size": 1, "unknown": {"to": "us"}}, status={"phase": "New"})
    assert await here.draft.save() is False
    assert here.server.requests == []


async def test_only_differences_are_written_and_unknown_fields_survive() -> None:
    here = Setting(spec={"size": 1, "unknown": {"to": "us"}}, status={"phase": "New"})
    here.mine.spec.size = 2
    assert await here.draft.save() is True
    assert here.patches == [("a", {"spec": {"size": 2}})]
    assert here.stored["spec"] == {"size": 2, "unknown": {"to": "us"}}


async def test_a_field_set_back_to_its_default_is_removed() -> None:
    here = Setting(spec={"size": 1, "colour": "blue", "tags": {"a": "1", "b": "2"}})
    here.mine.spec.size = None
    here.mine.spec.colour = "red"
    del here.mine.spec.tags["a"]
    await here.draft.save()
    assert here.patches == [("a", {"spec": {"size": None, "colour": None, "tags": {"a": None}}})]


async def test_a_draft_writes_metadata_and_status_separately_and_holds_the_servers_state() -> None:
    here = Setting()
    here.mine.metadata.labels["x"] = "y"
    here.mine.status.phase = "Ready"
    await here.draft.save()
    assert [where for where, _ in here.patches] == ["a", "status"]
    assert here.draft.before == here.stored
    assert here.mine is here.draft.object
    assert here.mine.metadata.resource_version == here.stored["metadata"]["resourceVersion"]
    assert here.mine.status.phase == "Ready"
    here.patches.clear()
    assert await here.draft.save() is False
    here.mine.status.ready = True
    await here.draft.save()
    assert here.patches == [("status", {"status": {"ready": True}})]


async def test_metadata_and_spec_may_be_written_alone_and_the_status_later() -> None:
    here = Setting()
    here.mine.spec.size = 2
    here.mine.status.phase = "Ready"
    assert await here.draft.save_spec() is True
    assert here.patches == [("a", {"spec": {"size": 2}})]
    assert here.mine.metadata.resource_version == here.stored["metadata"]["resourceVersion"]
    assert here.mine.status.phase == "Ready"
    assert await here.draft.save_spec() is False
    here.mine.status.ready = True
    assert await here.draft.save() is True
    assert here.patches[1:] == [("status", {"status": {"phase": "Ready", "ready": True}})]


async def test_only_shared_lists_require_the_version_that_was_read() -> None:
    here = Setting()
    version = here.mine.metadata.resource_version
    here.mine.metadata.finalizers.append("x/y")
    await here.draft.save()
    assert here.patches == [
        ("a", {"metadata": {"finalizers": ["x/y"], "resourceVersion": version}})
    ]


async def test_a_draft_writes_own_changes_and_keeps_those_of_others() -> None:
    here = Setting(
        metadata={"finalizers": ["old"], "labels": {"a": "1", "b": "1"}}, spec={"size": 1}
    )
    here.mine.metadata.finalizers.append("ours")
    here.mine.metadata.labels["a"] = "ours"
    here.mine.spec.colour = "ours"
    here.others_change_metadata(
        finalizers=["theirs", "old"], labels={"a": "2", "b": "theirs", "c": "theirs"}
    )
    here.others_write(spec={"size": 7, "colour": "theirs"})
    await here.draft.save()
    assert here.stored["metadata"]["finalizers"] == ["theirs", "old", "ours"]
    assert here.stored["metadata"]["labels"] == {"a": "ours", "b": "theirs", "c": "theirs"}
    assert here.stored["spec"] == {"size": 7, "colour": "ours"}
    assert here.draft.before == here.stored
    assert here.mine.spec.size == 7


async def test_finalizers_that_others_removed_stay_removed() -> None:
    here = Setting(metadata={"finalizers": ["one", "two", "three"]})
    here.mine.metadata.finalizers.remove("three")
    here.others_change_metadata(finalizers=["two", "three"])
    await here.draft.save()
    assert here.stored["metadata"]["finalizers"] == ["two"]


async def test_conditions_are_merged_by_type() -> None:
    def shown() -> dict[str, str]:
        return {
            condition["type"]: condition["status"]
            for condition in here.stored["status"]["conditions"]
        }

    here = Setting(
        status={
            "conditions": [
                {"type": "Ours", "status": "False"},
                {"type": "Theirs", "status": "False"},
                {"type": "Gone", "status": "False"},
            ]
        }
    )
    here.mine.status.conditions[0].status = "True"
    here.mine.status.conditions.append(Condition(type="New", status="True"))
    here.others_write(
        status={
            "phase": "Theirs",
            "conditions": [
                {"type": "Ours", "status": "Unknown"},
                {"type": "Theirs", "status": "True"},
                {"type": "Added", "status": "True"},
            ],
        }
    )
    await here.draft.save()
    assert shown() == {"Ours": "True", "Theirs": "True", "Added": "True", "New": "True"}
    assert here.stored["status"]["phase"] == "Theirs"


async def test_owner_references_are_merged_by_uid() -> None:
    def owner(uid: str) -> Document:
        return {"apiVersion": "v1", "kind": "Owner", "name": uid, "uid": uid}

    here = Setting(metadata={"ownerReferences": [owner("1")]})
    here.mine.metadata.owner_references.append(
        OwnerReference(api_version="v1", kind="Owner", name="ours", uid="2", controller=True)
    )
    here.others_change_metadata(ownerReferences=[owner("1"), owner("3")])
    await here.draft.save()
    uids = [reference["uid"] for reference in here.stored["metadata"]["ownerReferences"]]
    assert uids == ["1", "3", "2"]


async def test_writes_of_others_between_two_own_writes_are_kept() -> None:
    here = Setting(status={"conditions": [{"type": "Ours", "status": "False"}]})
    here.mine.metadata.labels["x"] = "y"
    here.mine.status.conditions[0].status = "True"
    here.others_write(status={"conditions": [{"type": "Theirs", "status": "True"}]})
    here.others_change_metadata(annotations={"their": "note"})
    await here.draft.save()
    conditions = [
        (condition["type"], condition["status"])
        for condition in here.stored["status"]["conditions"]
    ]
    assert conditions == [("Theirs", "True"), ("Ours", "True")]
    assert here.mine.metadata.annotations == {"their": "note"}


async def test_endless_changes_by_others_are_a_conflict() -> None:
    here = Setting()
    here.mine.metadata.finalizers.append("ours")

    def meddle(request: Request) -> None:
        if request.method == "PATCH":
            here.server.before_answer = lambda request: None
            here.others_change_metadata(annotations={"n": str(here.server.version)})
            here.server.before_answer = meddle

    here.server.before_answer = meddle
    with pytest.raises(Conflict):
        await here.draft.save()
    assert len(here.patches) == 5
    here.server.before_answer = lambda request: None
    await here.draft.save()
    assert here.stored["metadata"]["finalizers"] == ["ours"]


async def test_writers_of_one_program_take_turns_and_are_not_refused() -> None:
    server, patched = FakeServer(), list[int]()

    async def noted(request: Request) -> Any:
        reply = await server(request)
        if request.method == "PATCH":
            patched.append(reply.status)
        return reply

    runtime = Runtime.on(noted, clock=loop_clock())
    runtime.cache.informer(WIDGETS)
    document = server.put(widget("a"))
    drafts = [Draft(runtime.client, Widget, document) for _ in range(5)]
    async with asyncio.TaskGroup() as group:
        running = group.create_task(runtime.run())
        await runtime.cache.wait_for_sync()
        async with asyncio.TaskGroup() as writers:
            for number, draft in enumerate(drafts):
                draft.object.status.conditions.append(Condition(f"T{number}", "True"))
                writers.create_task(draft.save())
        running.cancel()
    conditions = server.objects["default", "a"]["status"]["conditions"]
    assert sorted(item["type"] for item in conditions) == [f"T{number}" for number in range(5)]
    assert patched == [200] * 5


async def test_removing_the_last_finalizer_ends_the_object_and_writes_no_status() -> None:
    stamp = {"finalizers": ["ours"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    here = Setting(metadata=stamp)
    here.mine.metadata.finalizers.clear()
    here.mine.status.phase = "Deleted"
    assert await here.draft.save() is True
    assert here.server.objects == {}
    assert [where for where, _ in here.patches] == ["a"]


@pytest.mark.parametrize("deleting", [True, False])
async def test_a_missing_object_is_an_error_unless_it_was_being_deleted(
    deleting: bool,
) -> None:
    stamp = {"finalizers": ["x"], "deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    here = Setting(metadata=stamp)
    here.mine.status.phase = "Deleted"
    here.server.remove("a")
    if deleting:
        assert await here.draft.save() is False
    else:
        with pytest.raises(NotFound):
            await here.draft.save()


async def test_an_object_recreated_under_the_name_is_not_written() -> None:
    here = Setting(metadata={"finalizers": ["x"]})
    here.mine.metadata.finalizers.append("ours")
    here.server.remove("a")
    here.server.put(widget("a"))
    with pytest.raises(Conflict):
        await here.draft.save()
    assert "finalizers" not in here.stored["metadata"]
