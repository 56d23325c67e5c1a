"""Deterministic simulation: kapy's managers under faults, on virtual time, replayed from a seed.

    from kapy.testing.simulation import SCENARIOS, parse_faults, play

    outcome = play(SCENARIOS["create"], seed=7, faults=parse_faults("crash-after@core:w12"))
    assert outcome.is_good, outcome.violations

A run is decided by its seed: the order of ready tasks, timers, latencies and faults. `rules` are
checked at every write; the end is compared with the undisturbed run. `event_loop` and `network` are
the scheduler and the faults, `world` and `processes` the simulated management cluster,
`custom_provider`, `own_cloud` and `machine_boot` a provider of one's own, `run` one run, `forking`
every fault at every point, `campaign` and `story` many runs and the report about a failing one.
`kapy simulate` is the command.
"""

from kapy.testing.simulation.campaign import (
    Failure,
    baseline_of,
    exhaustive,
    play,
    shrunk,
)
from kapy.testing.simulation.guided import random_runs
from kapy.testing.simulation.own_cloud import disturb_cloud
from kapy.testing.simulation.points import (
    FAULT_KINDS,
    BadFault,
    Fault,
    Point,
    format_faults,
    parse_faults,
)
from kapy.testing.simulation.run import BadSimulation, Baseline, Outcome, run
from kapy.testing.simulation.scenarios import SCENARIOS, BadScenario, Scenario, scenario_named

__all__ = [
    "FAULT_KINDS",
    "SCENARIOS",
    "BadFault",
    "BadScenario",
    "BadSimulation",
    "Baseline",
    "Failure",
    "Fault",
    "Outcome",
    "Point",
    "Scenario",
    "baseline_of",
    "disturb_cloud",
    "exhaustive",
    "format_faults",
    "parse_faults",
    "play",
    "random_runs",
    "run",
    "scenario_named",
    "shrunk",
]
