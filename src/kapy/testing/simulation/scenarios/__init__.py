"""The scenarios that `kapy simulate` plays."""

from kapy.testing.simulation.scenarios.catalogue import SCENARIOS, BadScenario, scenario_named
from kapy.testing.simulation.scenarios.scenario import Scenario

__all__ = ["SCENARIOS", "BadScenario", "Scenario", "scenario_named"]
