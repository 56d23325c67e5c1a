"""Compare functions with those of Cluster API, by arguments that are changed at random.

    python -m tests.functions --count 2000 --seed 1 variables gotemplate

Prints for each function how many answers were equal, and a few of those that differ. The exit code
is 1 if one differs, and 2 if Cluster API's functions cannot be built. With --recorded, the recorded
arguments are taken as they are: what differs then is a mistake of the judge.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import NamedTuple

from kapy.kube import Document
from tests.functions.functions import Function, function, recorded_functions
from tests.functions.judge import NoJudge, judge
from tests.functions.mutations import Mutations
from tests.functions.template_calls import template_calls
from tests.functions.webhooks import (
    KINDS,
    PREFIX,
    changed_requests,
    compare_webhooks,
    recorded_requests,
)
from tests.oracle.topic import Result, result_of

_SHOWN = 700
_NO_CASE = tuple(
    f"raised {name}" for name in ("ValidationError", "KeyError", "TypeError", "AttributeError")
)
"""The object lacks what its schema requires, or the case what each recorded one has."""


class Comparison(NamedTuple):
    """The results of one function. refused: cases that Go cannot read, or on which it panics."""

    compared: int
    refused: int
    differing: list[tuple[Document, Result]]


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and compare."""
    options = _parser().parse_args(arguments)
    functions = [*recorded_functions(), *(PREFIX + kind for kind in KINDS)]
    parts = options.functions or [""]
    names = [name for part in parts for name in functions if part in name]
    if not names:
        return _refuse(f"no function has that in its name; they are: {', '.join(functions)}")
    differing = 0
    for name in dict.fromkeys(names):
        try:
            comparison = _compare_named(name, options)
        except NoJudge as error:
            return _refuse(str(error))
        _show(name, comparison, options.show)
        differing += len(comparison.differing)
    return int(bool(differing))


def _compare_named(name: str, options: argparse.Namespace) -> Comparison:
    if name.startswith(PREFIX):
        return _compare_kind(name.removeprefix(PREFIX), options)
    selected = function(name)
    cases = list(Mutations(selected.given, options.seed).cases(options.count))
    if name == "gotemplate/render":
        cases += template_calls(options.seed)
    return compare(selected, selected.given if options.recorded else cases)


def _compare_kind(kind: str, options: argparse.Namespace) -> Comparison:
    if options.recorded:
        cases = recorded_requests(kind)
    else:
        cases = changed_requests(kind, options.count, options.seed)
    compared = compare_webhooks(cases)
    differing = [
        (item.case, Result(f"{item.case['id']}", item.differences))
        for item in compared
        if item.differences
    ]
    return Comparison(len(compared), len(cases) - len(compared), differing)


def compare(selected: Function, cases: list[Document]) -> Comparison:
    """Compare the answers to these cases. Raises NoJudge."""
    answers = judge(selected.judge, cases)
    refused, differing = 0, []
    for case, answer in zip(cases, answers, strict=True):
        if "invalid" in answer or "panic" in answer:
            refused += 1
            continue
        result = result_of(selected.name, selected.check, {**case, **answer})
        if any(line.startswith(_NO_CASE) for line in result.differences):
            refused += 1
        elif not result.passed:
            differing.append(({**case, **answer}, result))
    return Comparison(len(cases) - refused, refused, differing)


def _show(name: str, comparison: Comparison, shown: int) -> None:
    for record, result in comparison.differing[:shown]:
        _say(f"DIFFERS {json.dumps(record)[:_SHOWN]}")
        for line in result.differences[:3]:
            _say(f"    {line[:_SHOWN]}")
    equal = comparison.compared - len(comparison.differing)
    _say(f"{name}: {equal} equal, {len(comparison.differing)} differ, {comparison.refused} refused")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.functions", description=__doc__)
    parser.add_argument("functions", nargs="*", help="a part of the functions' names")
    parser.add_argument("--count", type=int, default=1000, help="cases of each function")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=3, help="differences to print of each")
    parser.add_argument("--recorded", action="store_true", help="change no arguments")
    return parser


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
