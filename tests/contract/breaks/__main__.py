"""`python -m tests.contract.breaks [TEXT…]`: break all rules, or those with a TEXT in what goes
wrong, in the file, or in an id."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.contract.breaks.broken import Break
from tests.contract.breaks.catalogue import BREAKS
from tests.contract.breaks.runner import Outcome, run


def main(texts: Sequence[str]) -> int:
    """Print a line for each break; 1 if a test did not notice one."""
    chosen = [entry for entry in BREAKS if not texts or any(text in _text(entry) for text in texts)]
    unnoticed = 0
    with TemporaryDirectory(prefix="kapy-rules-") as folder:
        for outcome in run(chosen, Path(folder), workers=os.cpu_count() or 1):
            _say(outcome)
            unnoticed += not outcome.is_seen
    sys.stdout.write(f"{len(chosen)} breaks, {unnoticed} not noticed by the tests\n")
    return 1 if unnoticed or not chosen else 0


def _text(entry: Break) -> str:
    return " ".join(
        (entry.name, entry.file, *(rule for rules in entry.shown.values() for rule in rules))
    )


def _say(outcome: Outcome) -> None:
    broken = outcome.broken
    verdict = "seen" if outcome.is_seen else "NOT SEEN"
    sys.stdout.write(f"{verdict:9} {broken.file}: {broken.name}\n")
    for test in outcome.unseen:
        sys.stdout.write(f"          {test}\n")
    if outcome.problem:
        sys.stdout.write(outcome.problem[-2000:] + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
