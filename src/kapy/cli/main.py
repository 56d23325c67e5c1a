"""The `kapy` command: parses, and imports a subcommand only when it is called."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Entry point of the console script.

    Ctrl-C ends it without a traceback at any moment, also while modules are imported.
    """
    try:
        code = _run(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code:
        sys.exit(code)


def _run(arguments: list[str]) -> int:
    from kapy.cli.quick import answered

    if answered(arguments):
        return 0
    from kapy.cli.root import run

    return run(arguments)


if __name__ == "__main__":
    main()
