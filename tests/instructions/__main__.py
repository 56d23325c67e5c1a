"""`make instructions`: fail where a small story costs more instructions than recorded.

With `--record`, the counts are recorded. Needs Valgrind and takes some minutes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from shutil import which

from tests.instructions import figure
from tests.instructions.counting import instructions_per_round, python_build
from tests.instructions.workloads import REFERENCE, STORY


def main(arguments: Sequence[str]) -> int:
    """Count, then record or compare. Returns 1 if the story costs too much."""
    if which("valgrind") is None:
        sys.stderr.write("make instructions needs valgrind (on Debian: apt install valgrind)\n")
        return 2
    now = figure.Figure(
        python_build(),
        round(instructions_per_round(STORY)),
        round(instructions_per_round(REFERENCE)),
    )
    if "--record" in arguments:
        figure.record(now)
        return 0
    before = figure.recorded()
    sys.stdout.write(f"{figure.report(before, now)}\n")
    if figure.increase(before, now) > figure.accepted_increase(before, now):
        sys.stderr.write(f"{figure.HINT}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
