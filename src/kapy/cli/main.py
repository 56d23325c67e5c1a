"""The `kapy` command: parses, and imports a subcommand only when it is called."""

from __future__ import annotations

import sys

from kapy import __version__

HELP = """\
Usage: kapy [OPTIONS] COMMAND [ARGS]...

  Cluster API in Python: a management plane for Kubernetes clusters, with
  nothing to install.

Options:
  --version   Print the version.
  -h, --help  Show this message and exit.

Commands:
  quickstart  Start a plane and a Ready cluster.
  up          Run a management plane until Ctrl-C.
  down        Stop a plane that runs in the background.
  status      Say whether a plane runs, and where.
  logs        Print what a plane in the background said.
  backup      Save a plane, also while it runs.
  restore     Put a backup of a plane back.
  get         Get info of a workload cluster.
  describe    Describe workload clusters.
  crds        Print the CRDs of Cluster API's kinds.
  version     Print the version.
"""
"""What `kapy.cli.root` prints (a test holds the two together)."""


def main() -> None:
    """Entry point of the console script."""
    arguments = sys.argv[1:]
    # Asked often, also by scripts: answered before anything else is imported.
    if arguments in (["--version"], ["version"]):
        sys.stdout.write(f"kapy {__version__}\n")
        return
    if arguments in (["--help"], ["-h"]):
        sys.stdout.write(HELP)
        return
    from kapy.cli.root import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
