"""The `kapy` command: parses, and imports a subcommand only when it is called."""

from __future__ import annotations

import sys

from kapy import __version__


def main() -> None:
    """Entry point of the console script."""
    arguments = sys.argv[1:]
    # Asked often, also by scripts: answered before anything else is imported.
    if arguments in (["--version"], ["version"]):
        sys.stdout.write(f"kapy {__version__}\n")
        return
    if arguments in (["--help"], ["-h"]):
        from kapy.cli.tree import root_help

        sys.stdout.write(root_help())
        return
    from kapy.cli.root import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
