"""Upstream's end-to-end specs against planes of kapy, where `KAPY_SPECS` names some of them.

`KAPY_SPECS=all` runs all that need no more than machines in memory. See
docs/how-to/run-upstream-specs.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.real.specs import containers, old_release, parts
from tests.real.specs.catalogue import SPECS, runnable
from tests.real.specs.releases import released
from tests.real.specs.run import Result, runner, selected

ASKED = os.environ.get("KAPY_SPECS", "")
NAMES = runnable() if ASKED == "all" else ASKED.replace(",", " ").split()

pytestmark = pytest.mark.sockets


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[str], Result]]:
    lack = parts.missing()
    assert not lack, lack
    unknown = sorted(set(NAMES) - SPECS.keys())
    assert not unknown, f"no spec is called {', '.join(unknown)}; there are {', '.join(SPECS)}"
    if any(SPECS[name].is_apart for name in NAMES):
        assert containers.is_inside(), "these need namespaces: python -m tests.real.specs NAME"
    with runner(parts.CACHE / "runs", NAMES) as result:
        yield result


@pytest.mark.parametrize("name", NAMES)
def test_the_spec_passes(name: str, run: Callable[[str], Result]) -> None:
    result = run(name)
    assert result.passed, result.log.read_text(errors="replace")[-4000:]


@pytest.mark.parametrize("names", [list(SPECS)] if NAMES else [])
def test_every_pattern_selects_one_spec(names: list[str], tmp_path: Path) -> None:
    with released(old_release.VERSIONS, old_release.file, tmp_path) as environment:
        counts = {name: selected(SPECS[name].focus, tmp_path, environment) for name in names}
    assert counts == dict.fromkeys(names, 1)
