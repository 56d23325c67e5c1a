"""The table of commands by help section. A new command is one line; its module is not imported
here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

Commands = Mapping[str, tuple[str, str]]
"""`module:attribute` and one line of help, by the command's name."""

SECTIONS: Final[Mapping[str, Commands]] = {
    "Management planes": {
        "quickstart": ("kapy.cli.quickstart:quickstart", "Start a plane and a Ready cluster."),
        "up": ("kapy.cli.up:up", "Run a management plane until Ctrl-C."),
        "manager": ("kapy.cli.groups:MANAGER", "Run one manager, at any Kubernetes."),
        "down": ("kapy.cli.daemon:down", "Stop a plane that runs in the background."),
        "planes": ("kapy.cli.daemon:planes", "List the planes of this user."),
        "status": ("kapy.cli.daemon:status", "Say whether a plane runs, and where."),
        "logs": ("kapy.cli.daemon:LOGS", "Print logs of a plane in the background, of a Machine."),
        "run": ("kapy.cli.groups:RUN", "Run a provider's own program beside a plane."),
        "service": ("kapy.cli.groups:SERVICE", "Let a plane survive reboots."),
        "backup": ("kapy.cli.backup:backup", "Save a plane, also while it runs."),
        "restore": ("kapy.cli.backup:restore", "Put a backup of a plane back."),
    },
    "Providers": {
        "init": ("kapy.cli.init:init", "Initialize a management cluster."),
        "upgrade": ("kapy.cli.groups:UPGRADE", "Upgrade core and provider components."),
        "delete": ("kapy.cli.delete:delete", "Delete one or more providers."),
        "certificates": ("kapy.cli.groups:CERTIFICATES", "Look after certificates of webhooks."),
        "config": ("kapy.cli.groups:CONFIG", "Display what kapy is configured to use."),
        "bundle": ("kapy.cli.groups:BUNDLE", "Take providers to where there is no network."),
        "new": ("kapy.cli.groups:NEW", "Begin a provider or an extension."),
        "conformance": ("kapy.cli.groups:CONFORMANCE", "Check providers by the contracts."),
        "simulate": ("kapy.cli.simulate:simulate", "Play faults against clusters on virtual time."),
        "components": ("kapy.cli.components:components", "Print what installs kapy's managers."),
        "crds": ("kapy.cli.crds:crds", "Print the CRDs of Cluster API's kinds."),
    },
    "Clusters": {
        "generate": ("kapy.cli.groups:GENERATE", "Generate YAML of clusters and providers."),
        "convert": ("kapy.cli.convert:convert", "Convert manifests to the newest version."),
        "plan": ("kapy.cli.plan:plan", "Show what a change would do, before it happens."),
        "ui": ("kapy.cli.ui:ui", "Open the page of all clusters in a browser."),
        "top": ("kapy.cli.top:top", "Show all clusters and what they wait for, live."),
        "describe": ("kapy.cli.groups:DESCRIBE", "Describe workload clusters."),
        "get": ("kapy.cli.groups:GET", "Get info of a workload cluster."),
        "exec": ("kapy.cli.exec_machine:exec_machine", "Run a command in a Machine."),
        "debug": ("kapy.cli.groups:DEBUG", "Gather what a bug report needs."),
        "pivot": ("kapy.cli.pivot:pivot", "Let a workload cluster manage itself."),
        "move": ("kapy.cli.move:move", "Move clusters between management clusters."),
        "alpha": ("kapy.cli.groups:ALPHA", "Commands that may still change."),
    },
    "Runtime extensions": {
        "hooks": ("kapy.cli.groups:HOOKS", "Show what extensions can be asked."),
        "extension": ("kapy.cli.groups:EXTENSION", "Run extensions that are written in Python."),
    },
    "Others": {
        "completion": ("kapy.cli.completion:completion", "Print code that completes in a shell."),
        "version": ("kapy.cli.version:version", "Print the version."),
    },
}

COMMANDS: Final[Commands] = {
    name: where for section in SECTIONS.values() for name, where in section.items()
}

_HEAD: Final = """\
Usage: kapy [OPTIONS] COMMAND [ARGS]...

  Cluster API in Python: a management plane for Kubernetes clusters, with
  nothing to install.

Options:
  --config TEXT  Configuration file, or its URL.
  -v, --v INT    How much is said.
  --version      Print the version.
  -h, --help     Show this message and exit.
"""


def root_help() -> str:
    """Return the help of `kapy` itself."""
    width = max(map(len, COMMANDS)) + 2
    parts = [_HEAD]
    for title, commands in SECTIONS.items():
        lines = [f"  {name:{width}}{line}" for name, (_, line) in commands.items()]
        parts.append("\n".join([f"{title}:", *lines]) + "\n")
    return "\n".join(parts)
