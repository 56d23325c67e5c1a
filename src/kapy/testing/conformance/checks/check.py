"""A static check of a release's files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from kapy.kube.errors import KapyError
from kapy.testing.conformance.files import Object
from kapy.testing.conformance.findings import Finding, Result, State
from kapy.testing.conformance.release import Release
from kapy.testing.conformance.rules import Rule

S = TypeVar("S")


class CannotTell(KapyError):
    """A check cannot be run, and the message says why."""


@dataclass(frozen=True)
class Check(Generic[S]):
    """A check of one rule.

    subjects: returns what is to be checked; if it is empty, the rule is not applicable. Raises
    CannotTell. faults: returns the findings about one subject. nothing: the reason to report if
    there is no subject.
    """

    subjects: Callable[[Release], Iterable[S]]
    faults: Callable[[S], Iterator[Finding]]
    nothing: str

    def result(self, rule: Rule, release: Release) -> Result:
        """Run the check on a release and return the result."""
        try:
            subjects = list(self.subjects(release))
        except CannotTell as error:
            return Result(rule, State.NOT_RUN, str(error))
        if not subjects:
            return Result(rule, State.NOT_APPLICABLE, self.nothing)
        findings = tuple(finding for subject in subjects for finding in self.faults(subject))
        if findings:
            return Result(rule, State.BROKEN, findings=findings)
        return Result(rule, State.PASSED, f"{len(subjects)} checked")


def fault(obj: Object, field: str, evidence: str, remedy: str) -> Finding:
    """Return a finding about an object."""
    return Finding(obj.file, obj.called, field, evidence, remedy)
