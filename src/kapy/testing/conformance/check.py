"""Static conformance: check a release's files against every rule."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kapy.testing.conformance.checks import CHECKS
from kapy.testing.conformance.errors import ConformanceError
from kapy.testing.conformance.findings import UNSEEN, Report, Result, State
from kapy.testing.conformance.release import Release, releases_at
from kapy.testing.conformance.rules import RULES, CheckMethod, Rule


def check_releases(path: Path) -> list[Report]:
    """Return a report for each release at a path: a file, a folder, or folders below it.

    Raises ConformanceError if a file cannot be read.
    """
    return [check_release(release) for release in releases_at(path)]


def check_release(release: Release) -> Report:
    """Return the result of every rule; an unreadable template is reported as the report's trouble.

    Raises ConformanceError if another file cannot be read.
    """
    try:
        trouble = "; ".join(file.unreadable for file in release.files if file.unreadable)
        return Report(release.name, tuple(_results(release)), trouble)
    except ConformanceError as error:
        raise ConformanceError(f"{release.name}: {error}") from None


def _results(release: Release) -> Iterator[Result]:
    for rule in RULES.values():
        yield _result(rule, release)


def _result(rule: Rule, release: Release) -> Result:
    if rule.checked is CheckMethod.AUTHOR:
        return Result(rule, State.AUTHOR, "no program can tell")
    if rule.checked is CheckMethod.BEHAVIOUR:
        return Result(rule, State.NOT_RUN, UNSEEN)
    return CHECKS[rule.id].result(rule, release)


def merge_reports(static: Report, behaviour: Report) -> Report:
    """Merge the static report and the behaviour report of one release."""
    watch_log = {item.rule.id: item for item in behaviour.results}
    results = tuple(watch_log.get(item.rule.id, item) for item in static.results)
    trouble = "; ".join(filter(None, (static.trouble, behaviour.trouble)))
    return Report(static.name, results, trouble, behaviour.leftovers)
