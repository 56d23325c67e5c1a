"""Replay recorded cases: `python -m tests.oracle TOPIC FOLDER`.

Prints the first differences and ends with `TOPIC: N passed, M failed`; exit code 1 on a failure.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.oracle.apiserver import CannotReplay
from tests.oracle.registry import OWN, PURE, known, play
from tests.oracle.topic import Result


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    if not known(options.topic):
        topics = ", ".join([*PURE, *OWN, "apiserver", "apiserver/crud …"])
        return _refuse(f"there is no topic {options.topic}; the topics are {topics}")
    if not options.folder.is_dir():
        return _refuse(f"{options.folder} is not a folder")
    try:
        results = dict(play(options.topic, options.folder))
    except CannotReplay as error:
        return _refuse(str(error))
    everything = [
        element for some in results.values() for element in some if options.only in element.case
    ]
    failed = [element for element in everything if not element.passed]
    for item in failed[: options.show]:
        _say(f"FAIL {item.case}")
        for line in item.differences[: options.lines]:
            _say(f"    {line}")
    if len(failed) > options.show:
        _say(f"… and {len(failed) - options.show} more failed cases")
    if len(results) > 1:
        for topic, some in results.items():
            _say(f"{topic:<16} {_rate(some)}")
    passed = len(everything) - len(failed)
    _say(f"{options.topic}: {passed} passed, {len(failed)} failed")
    return int(bool(failed) or not everything)


def _rate(results: list[Result]) -> str:
    passed = sum(item.passed for item in results)
    return f"{passed:>4} of {len(results):>4} passed ({100 * passed / len(results):.0f} %)"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.oracle", description=__doc__)
    parser.add_argument("topic", help="a topic, or apiserver/SUBTOPIC")
    parser.add_argument("folder", type=Path, help="a folder of recorded cases")
    parser.add_argument("--only", default="", help="the cases whose name has this in it")
    parser.add_argument("--show", type=int, default=20, help="failed cases to print")
    parser.add_argument("--lines", type=int, default=12, help="differences of each to print")
    return parser


def _refuse(sentence: str) -> int:
    sys.stderr.write(f"{sentence}\n")
    return 2


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
