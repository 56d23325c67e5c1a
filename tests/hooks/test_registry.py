"""Called handlers are those of the last discovery, of the ExtensionConfigs that exist."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.engine.cache import Change
from kapy.hooks.hook import GROUP
from kapy.hooks.registry import NotRegistered, Registry
from kapy.kube import Document
from tests.hooks.extension import VERSION, config

HOOK = "BeforeClusterCreate"


def found(
    *handlers: str, generation: int = 1, observed: int | None = 1, status: str = "True", **more: Any
) -> Document:
    """An ExtensionConfig. observed: the generation that discovery has seen."""
    document = config("ext", settings={"generation": str(generation)})
    document["metadata"] |= {"uid": "u", "generation": generation, **more}
    listed = [
        {"name": f"{handler}.ext", "requestHook": {"apiVersion": VERSION, "hook": HOOK}}
        for handler in handlers
    ]
    condition = {
        "type": "Discovered",
        "status": status,
        "reason": "Any",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "observedGeneration": observed,
    }
    conditions = [] if observed is None else [condition]
    document["status"] = {"handlers": listed, "conditions": conditions}
    return document


def following(*documents: Document | None, longest: int = 30) -> Registry:
    registry, old = Registry(longest=longest), None
    for new in documents:
        registry.observe(Change(old, new))
        old = new
    return registry


GOING = found("a", deletionTimestamp="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("documents", "called"),
    [
        pytest.param([found(observed=None)], [], id="new"),
        pytest.param([found("b", "a")], ["a.ext 1", "b.ext 1"], id="discovered"),
        pytest.param(
            [found("a", status="False")],
            ["a.ext 1"],
            id="dead when the program starts: what it told before counts",
        ),
        pytest.param(
            [found("a"), found("a", generation=2)],
            ["a.ext 1"],
            id="changed, not yet discovered: it goes on as it was",
        ),
        pytest.param(
            [found("a"), found("b", generation=2, observed=2)],
            ["b.ext 2"],
            id="changed, discovered",
        ),
        pytest.param(
            [found("a"), found("a", generation=2, observed=2, status="False")],
            ["a.ext 1"],
            id="changed, and dead",
        ),
        pytest.param([found("a"), found()], [], id="no handlers any more"),
        pytest.param([found("a"), GOING], [], id="goes"),
        pytest.param([found("a"), None], [], id="gone"),
    ],
)
def test_handlers_of_discovered_extensions_are_called(
    documents: list[Document | None], called: list[str]
) -> None:
    serving = following(*documents).handlers_of(GROUP, HOOK)
    assert [
        f"{registration.name} {registration.settings['generation']}" for registration in serving
    ] == called


def test_selector_and_timeout_of_a_dead_extension_can_be_changed() -> None:
    slow = {"runtime.cluster.x-k8s.io/longest-timeout-seconds": "2"}
    narrowed = found("a", generation=2, status="False", annotations=slow)
    narrowed["spec"]["namespaceSelector"] = {"matchLabels": {"grows": "grass"}}
    (called,) = following(found("a"), narrowed).handlers_of(GROUP, HOOK)
    assert not called.selector.matches({"grows": "trees"})
    assert (called.seconds, called.settings["generation"]) == (2, "1")


def test_handlers_have_names_and_hooks() -> None:
    registry = following(found("a"))
    assert registry.get("a.ext").handler == "a"
    assert list(registry.handlers_of(GROUP, "BeforeClusterDelete")) == []
    assert list(registry.handlers_of("other.example.com", HOOK)) == []
    with pytest.raises(NotRegistered, match=r'"b\.ext" has not been registered'):
        registry.get("b.ext")


@pytest.mark.parametrize(
    ("longest", "annotation", "seconds"),
    [(30, None, 10), (5, None, 5), (30, "3", 3), (2, "3", 2), (30, "30", 10)],
)
def test_the_shortest_timeout_applies(longest: int, annotation: str | None, seconds: int) -> None:
    named = {"runtime.cluster.x-k8s.io/longest-timeout-seconds": annotation}
    annotations = {} if annotation is None else named
    registry = following(found("a", annotations=annotations), longest=longest)
    assert registry.get("a.ext").seconds == seconds
