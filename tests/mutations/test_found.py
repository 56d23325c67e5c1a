"""Models and simulation find mutations, and a page tells which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutations.catalogue import CATALOGUE
from tests.mutations.found import FINDERS, ISSUES
from tests.mutations.live import NotLive, apply
from tests.mutations.mutation import Mutation

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "simulation-mutations.md"
LEAST = 60
ROUNDING = "maxUnavailable is rounded up"


def test_a_model_finds_a_mutation_in_another_process() -> None:
    command = [sys.executable, "-m", "tests.mutations", "--found", ROUNDING]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert f"{ROUNDING}: model:rollout, " in done.stdout
    assert "Machines are available, less than" in done.stdout


def test_every_finder_has_its_mutation_and_the_page_its_row() -> None:
    rows = [line.split(" | ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    rows_told = {row[0].removeprefix("| "): row[1] for row in rows[1:]}
    assert rows_told == dict(FINDERS)
    assert all(row[2] for row in rows)
    assert FINDERS.keys() >= ISSUES.keys()
    assert len(FINDERS) >= LEAST
    assert FINDERS.keys() <= {mutation.name for mutation in CATALOGUE}


def test_a_change_of_no_function_is_refused() -> None:
    nothing = Mutation("nothing", "core/machinedeployment/rollout.py", "import KapyError", "", ())
    with pytest.raises((NotLive, SyntaxError)):
        apply(nothing)
