"""`python -m tests.mutations [TEXT…]`: try all mutations, or those with a TEXT in name or file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutations.catalogue import CATALOGUE
from tests.mutations.runner import Verdict, run


def main(texts: Sequence[str]) -> int:
    """Print a line for each mutation; 1 if one was not found.

    --found: by models and simulation instead of tests.
    """
    if texts and texts[0] == "--found":
        from tests.mutations import found  # it imports all of kapy

        return found.main(texts[1:])
    chosen = [
        entry
        for entry in CATALOGUE
        if not texts or any(text in entry.name or text in entry.file for text in texts)
    ]
    missed = 0
    with TemporaryDirectory(prefix="kapy-mutations-") as folder:
        for outcome in run(chosen, Path(folder)):
            mutation = outcome.mutation
            _say(f"{outcome.verdict.value:9} {mutation.file}: {mutation.name}")
            if outcome.verdict is Verdict.BROKEN:
                _say(outcome.output)
            missed += not outcome.is_found
    _say(f"{len(chosen)} mutations, {missed} not found by the tests")
    return 1 if missed or not chosen else 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
