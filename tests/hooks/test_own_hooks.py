"""Hooks of a provider, as the how-to says: a module that is installed, and all know them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from kapy.api.extension_config import ClientConfig, ExtensionConfig
from kapy.hooks import BEFORE_CLUSTER_CREATE, Extension, RetryResponse, catalog
from kapy.hooks.catalog import BadHooks, full_catalog
from kapy.hooks.evolution import read_snapshot, violations
from kapy.hooks.hook import Hook
from kapy.hooks.transport import Answer
from kapy.kube import Key
from kapy.testing.story import Story
from tests.hooks.extension import config
from tests.stories.test_extensions import discovered, running_with

HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-hook-version.md"


@dataclass
class Point:
    """An entry point of a package that is installed."""

    module: ModuleType
    value: str = "acme.hooks"

    def load(self) -> ModuleType:
        return self.module


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    """Clear the cache of installed hooks, which are fixed in a program but not in these tests."""
    catalog._installed_hooks.cache_clear()
    yield
    catalog._installed_hooks.cache_clear()


def install(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> None:
    def points(*, group: str) -> Sequence[Point]:
        return [Point(module)] if group == "kapy.hooks" else []

    monkeypatch.setattr("kapy.hooks.catalog.entry_points", points)


@pytest.fixture
def acme(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module of the how-to, installed."""
    section = HOW_TO.read_text().partition("## Hooks of your own")[2]
    module = ModuleType("acme.hooks")
    for code in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(compile(code, HOW_TO.name, "exec", dont_inherit=True), vars(module))
    install(monkeypatch, module)
    return module


class InProcess:
    """A Post to an extension in this process."""

    def __init__(self, extension: Extension) -> None:
        self._extension = extension

    async def __call__(self, client: ClientConfig, url: str, body: bytes) -> Answer:
        data = await self._extension.dispatch(urlsplit(url).path, body)
        assert data is not None
        return Answer(200, data)

    async def aclose(self) -> None:
        """Nothing is open."""


async def test_a_hook_of_a_provider_is_discovered_and_called(acme: Any) -> None:
    extension, herd = Extension(), {"metadata": {"name": "herd"}}

    @extension.handles(acme.BEFORE_MILKING, name="calm")
    async def calm(request: Any) -> RetryResponse:
        return RetryResponse.wait(60, f"{request.herd['metadata']['name']} is grazing")

    post = InProcess(extension)
    async with running_with(post) as plane:
        caller = acme.caller(plane.runtime, post)
        story = Story(plane.client, [ExtensionConfig.RESOURCE])
        await story.create([config("ext")])
        result = await discovered(story, "ext")
        assert [handler.name for handler in result.status.handlers] == ["calm.ext"]
        answer = await acme.may_be_milked(caller, Key("default", "herd"), herd)
    assert answer == RetryResponse.wait(60, "herd is grazing")


def test_foreign_hooks_do_not_change_built_in_ones(acme: Any) -> None:
    assert violations(full_catalog(), read_snapshot("v1.14.0"), release="v1.15.0") == []
    assert full_catalog().get("hooks.acme.example.com/v1alpha1", "BeforeMilking") is not None


@pytest.mark.parametrize(
    ("hook", "sentence"),
    [
        (BEFORE_CLUSTER_CREATE, ""),
        (
            Hook("Mine", BEFORE_CLUSTER_CREATE.request, RetryResponse, "", ""),
            "the hooks of acme.hooks cannot be used: Mine has to be of a group of its own",
        ),
        (
            Hook("A", BEFORE_CLUSTER_CREATE.request, RetryResponse, "", "", version="x", group="b"),
            'A: "x" is no version',
        ),
    ],
)
def test_invalid_hook_packages_are_refused(
    monkeypatch: pytest.MonkeyPatch, hook: Any, sentence: str
) -> None:
    module = ModuleType("acme.hooks")
    vars(module)["HOOK"] = hook
    install(monkeypatch, module)
    if sentence:
        with pytest.raises(BadHooks, match=re.escape(sentence)):
            full_catalog()
    else:
        assert [item.name for item in full_catalog()].count(hook.name) == 1
