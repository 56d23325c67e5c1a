"""The order of steps of a reconcile: what is written when, and what is not done again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, ClassVar, cast

import msgspec
import pytest

from kapy.client.client import Client
from kapy.engine.cache import Informer
from kapy.engine.draft import Draft
from kapy.engine.reconciler import Phase, Reconciler
from kapy.engine.result import DONE, Result
from kapy.engine.status_writes import StatusInputs
from kapy.kube import Document, Key
from kapy.kube.http import Request
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import Resource
from tests.engine.fake_server import WIDGETS, FakeServer, widget

KEY = Key("default", "a")
STORED = (KEY.namespace, KEY.name)
FINALIZER = "example.com/widget"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Status(Model):
    phase: str = ""
    observed_generation: int = 0


class Widget(Object):
    RESOURCE: ClassVar[Resource] = WIDGETS

    status: Status = msgspec.field(default_factory=Status)


@dataclass
class WidgetScope:
    draft: Draft[Widget]
    now: datetime = NOW


class WidgetReconciler(Reconciler[Widget, WidgetScope]):
    """Widgets with a setting for each test: awaited, is_paused, phase functions, inputs."""

    def __init__(self) -> None:
        self.server = FakeServer()
        self.log: list[str] = []
        informer = SimpleNamespace(
            raw=lambda key: self.server.objects.get(tuple(key)), when_packed=lambda _: None
        )
        client = Client(self._record)
        super().__init__(Widget, cast(Informer[Any], informer), client, FINALIZER)
        self.awaited = self.is_paused = False
        self.inputs: StatusInputs | None = None
        self.normal = (self.phase("create"),)
        self.deletion = (self.phase("clean up", _remove_finalizer),)

    def phase(
        self, name: str, act: Callable[[WidgetScope], None] = lambda _: None
    ) -> Phase[WidgetScope]:
        async def run(scope: WidgetScope) -> Result:
            self.log.append(name)
            act(scope)
            return DONE

        return run

    async def _record(self, request: Request) -> Any:
        if request.method == "PATCH":
            assert isinstance(request.body, dict)
            metadata, rest = request.body.pop("metadata", {}), request.body
            names = [name for name in metadata if name != "resourceVersion"]
            self.log.append(f"PATCH {' '.join([*names, *(rest.get('status') or rest)])}")
            request.body.update({"metadata": metadata} if metadata else {})
        return await self.server(request)

    async def begin(self, draft: Draft[Widget]) -> WidgetScope | Result:
        return DONE if self.awaited else WidgetScope(draft)

    def pause(self, scope: WidgetScope) -> bool:
        if self.is_paused:
            scope.draft.object.status.phase = "Paused"
        return self.is_paused

    def status_inputs(self, _scope: WidgetScope) -> StatusInputs | None:
        return self.inputs

    def set_status(self, scope: WidgetScope) -> Result:
        self.log.append("status")
        scope.draft.object.status.phase = "Ready"
        return DONE

    @property
    def stored(self) -> Document:
        return self.server.objects[STORED]


def _remove_finalizer(scope: WidgetScope) -> None:
    scope.draft.object.metadata.finalizers.remove(FINALIZER)


def _fail(_scope: WidgetScope) -> None:
    raise OSError("the cloud is down")


@pytest.fixture
def widgets() -> WidgetReconciler:
    result = WidgetReconciler()
    result.server.put(widget("a", status={"phase": "New"}))
    return result


async def test_the_finalizer_is_stored_before_anything_is_created(
    widgets: WidgetReconciler,
) -> None:
    await widgets.reconcile(KEY)
    first, *rest = widgets.log
    assert first == "PATCH finalizers"
    assert rest[:2] == ["create", "status"]
    assert widgets.stored["metadata"]["finalizers"] == [FINALIZER]
    assert widgets.stored["status"]["phase"] == "Ready"


async def test_an_object_that_waits_for_another_one_is_left_alone(
    widgets: WidgetReconciler,
) -> None:
    widgets.awaited = True
    assert await widgets.reconcile(KEY) is DONE
    assert widgets.log == []


async def test_a_paused_object_reports_that_and_nothing_else(widgets: WidgetReconciler) -> None:
    widgets.is_paused = True
    await widgets.reconcile(KEY)
    assert widgets.log == ["PATCH finalizers", "PATCH phase"]


async def test_a_deletion_cleans_up_without_writing_the_status_of_a_deleted_object(
    widgets: WidgetReconciler,
) -> None:
    document = widget("a", status={"phase": "Ready"})
    document["metadata"] |= {
        "finalizers": [FINALIZER],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    widgets.server.put(document)
    await widgets.reconcile(KEY)
    assert widgets.log == ["clean up", "PATCH finalizers"]


async def test_a_failure_is_reported_and_raised_and_does_not_count_as_observed(
    widgets: WidgetReconciler,
) -> None:
    widgets.stored["metadata"]["generation"] = 7
    widgets.normal = (widgets.phase("create", _fail), widgets.phase("read"))
    with pytest.raises(OSError, match="the cloud is down"):
        await widgets.reconcile(KEY)
    assert widgets.log[1:4] == ["create", "read", "status"]
    assert widgets.stored["status"] == {"phase": "Ready"}
    widgets.normal = ()
    await widgets.reconcile(KEY)
    assert widgets.stored["status"] == {"phase": "Ready", "observedGeneration": 7}


async def test_a_status_of_the_same_inputs_is_not_computed_again(
    widgets: WidgetReconciler,
) -> None:
    widgets.inputs = StatusInputs((), ("facts",))
    for _ in range(3):
        await widgets.reconcile(KEY)
    # The first reconcile writes the status, the second one finds it stored.
    assert widgets.log.count("status") == 2
    widgets.inputs = StatusInputs((), ("others",))
    await widgets.reconcile(KEY)
    assert widgets.log.count("status") == 3


async def test_a_new_object_of_the_same_name_inherits_nothing(widgets: WidgetReconciler) -> None:
    widgets.inputs = StatusInputs((), ("facts",))
    for _ in range(2):
        await widgets.reconcile(KEY)
    stored = widgets.server.objects.pop(STORED)
    await widgets.reconcile(KEY)
    widgets.server.put(stored)
    widgets.log.clear()
    await widgets.reconcile(KEY)
    assert widgets.log == ["create", "status"]
