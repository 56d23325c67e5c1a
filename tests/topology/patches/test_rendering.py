"""The rendering of templates inside or outside the event loop, and limits on the time."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.kube.template_work import FULL, QUICK
from kapy.topology.patches import CannotPatch, rendering
from kapy.topology.patches.errors import NoValue
from kapy.topology.patches.rendering import LongTemplate, RenderedValue, Rendering
from kapy.topology.patches.values import SourceValues, Values
from tests.topology.patches.patching import INFRASTRUCTURE, MACHINES, add, of_class, patch, result

LONG = "{{ range $i := until 3000 }}{{ if eq $i 2999 }}{{ $i }}{{ end }}{{ end }}"
ENDLESS = "{{ range until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}"


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Templates that were rendered beside the event loop."""
    results: list[str] = []
    real = Rendering.full_outcome

    def run(self: Rendering, template: str, variables: Any) -> Any:
        results.append(template)
        return real(self, template, variables)

    monkeypatch.setattr(Rendering, "full_outcome", run)
    return results


async def test_a_long_template_is_rendered_beside_the_event_loop(threads: list[str]) -> None:
    state = await result(of_class(patch("p", INFRASTRUCTURE, add("spec/size", template=LONG))))
    assert state.infrastructure_cluster is not None
    assert state.infrastructure_cluster["spec"]["size"] == 2999
    assert threads == [LONG]


async def test_a_short_template_is_rendered_at_once(threads: list[str]) -> None:
    short = "{{ .builtin.cluster.name }}"
    await result(of_class(patch("p", MACHINES, add("spec/size", template=short))))
    assert threads == []


async def test_a_template_that_takes_too_long_is_reported() -> None:
    with pytest.raises(CannotPatch, match=rf"it takes too long \(more than {FULL} steps\)"):
        await result(of_class(patch("p", INFRASTRUCTURE, add("spec/size", template=ENDLESS))))


async def test_all_templates_of_a_cluster_share_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "ALL", FULL)
    changes = [add("spec/size", template=f"{LONG}{number}") for number in range(30)]
    with pytest.raises(CannotPatch, match="take too long together"):
        await result(of_class(patch("p", INFRASTRUCTURE, *changes)))


def test_many_short_templates_count_as_long_work() -> None:
    values = Values({"builtin": {}}, {}, Rendering())
    half = "{{ range until 1200 }}{{ end }}"
    with pytest.raises(LongTemplate):
        _ = [values.render(f"{half}{number}") for number in range(QUICK)]


async def test_after_a_pause_the_event_loop_may_be_used_again() -> None:
    shared = Rendering()
    values = Values({"builtin": {}}, {}, shared)
    for number in range(20):
        assert values.render(f"{{{{ range until 1000 }}}}{{{{ end }}}}1{number:02}") == 100 + number
        await shared.pause()


def test_rendered_templates_are_cached_by_their_variables() -> None:
    first = SourceValues([], {"a": 1}, frozenset()).of(None)
    again = SourceValues([], {"a": 1}, frozenset()).of(None)
    other = SourceValues([], {"a": 2}, frozenset()).of(None)
    template = "{{ .builtin.a }}-kept"
    assert first.render(template) == "1-kept"
    first.keep(template, RenderedValue("changed"))
    assert again.render(template) == "changed"
    assert other.render(template) == "2-kept"


def test_an_empty_rendering_is_cached_too() -> None:
    values = Values({"builtin": {"gone": 1}}, {})
    for _ in range(2):
        with pytest.raises(NoValue, match="differs each time"):
            values.render("{{ randInt 0 9 }}{{ .builtin.gone }}")
