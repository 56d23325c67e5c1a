"""Static conformance: a release's files, judged by every rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kapy.testing.conformance.checks import CHECKS
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import UNSEEN, Report, Result, State
from kapy.testing.conformance.release import Release, releases_at
from kapy.testing.conformance.rules import RULES, Checked, Rule


def checked(path: Path) -> list[Report]:
    """A report for each release at a path: a file, a folder, or folders below it.

    Raises ConformanceError where a file cannot be read.
    """
    return [report_of(release) for release in releases_at(path)]


def report_of(release: Release) -> Report:
    """What is known of every rule; a template that cannot be read is the report's trouble.

    Raises ConformanceError where another file cannot be read.
    """
    try:
        trouble = "; ".join(one.unreadable for one in release.files if one.unreadable)
        return Report(release.name, tuple(_results(release)), trouble)
    except ConformanceError as error:
        raise ConformanceError(f"{release.name}: {error}") from None


def _results(release: Release) -> Iterator[Result]:
    for rule in RULES.values():
        yield _result(rule, release)


def _result(rule: Rule, release: Release) -> Result:
    if rule.checked is Checked.AUTHOR:
        return Result(rule, State.AUTHOR, "no program can tell")
    if rule.checked is Checked.BEHAVIOUR:
        return Result(rule, State.NOT_RUN, UNSEEN)
    return CHECKS[rule.id].result(rule, release)


def completed(static: Report, behaviour: Report) -> Report:
    """One report of what files show and of what the running provider does."""
    seen = {one.rule.id: one for one in behaviour.results}
    results = tuple(seen.get(one.rule.id, one) for one in static.results)
    trouble = "; ".join(filter(None, (static.trouble, behaviour.trouble)))
    return Report(static.name, results, trouble, behaviour.remains)
