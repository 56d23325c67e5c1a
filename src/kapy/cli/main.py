"""The `kapy` command: parses, and imports a subcommand only when it is called."""

from __future__ import annotations

import sys

from kapy.cli.quick import answered


def main() -> None:
    """Entry point of the console script."""
    arguments = sys.argv[1:]
    if answered(arguments):
        return
    from kapy.cli.root import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
