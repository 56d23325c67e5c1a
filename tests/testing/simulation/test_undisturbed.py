"""Without a fault no scenario breaks a rule, and each reaches its goals in time."""

from __future__ import annotations

import pytest

from kapy.testing.simulation import SCENARIOS, run


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_keeps_every_rule(name: str) -> None:
    outcome = run(SCENARIOS[name], 0)
    assert outcome.violations == []
    assert [step["goal"] for step in outcome.steps if step["what"] == "goal"]
