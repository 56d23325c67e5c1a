"""The rules that hold at every write of every run, whatever faults there are."""

from kapy.testing.simulation.rules.catalogue import RULES, Referee

__all__ = ["RULES", "Referee"]
