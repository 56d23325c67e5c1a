"""The command groups of `kapy`."""

from __future__ import annotations

from kapy.cli.lazy import LazyGroup
from kapy.cli.tree import COMMANDS, Commands


def _group(name: str, commands: Commands, line: str = "") -> LazyGroup:
    line = line or COMMANDS[name][1]
    return LazyGroup(name, help=line, no_args_is_help=True, commands_at=commands)


MANAGER = _group(
    "manager",
    {
        "core": ("kapy.cli.manager:CORE", "Clusters, Machines, and what they are made of."),
        "bootstrap-kubeadm": ("kapy.cli.manager:BOOTSTRAP_KUBEADM", "KubeadmConfigs."),
        "control-plane-kubeadm": (
            "kapy.cli.manager:CONTROL_PLANE_KUBEADM",
            "KubeadmControlPlanes.",
        ),
        "infrastructure-dev": (
            "kapy.cli.manager:INFRASTRUCTURE_DEV",
            "DevClusters, DevMachines and DevMachinePools, in memory and in containers.",
        ),
    },
    "Run one of the managers, at the cluster of a kubeconfig or the one that it is in.",
)
RUN = _group(
    "run",
    {"provider": ("kapy.cli.run_provider:run_provider", "Run a provider's program on a plane.")},
)
SERVICE = _group(
    "service",
    {
        "install": ("kapy.cli.service:install", "Run a plane as a service of this user."),
        "uninstall": ("kapy.cli.service:uninstall", "End a plane's service; its data stay."),
        "status": ("kapy.cli.service:status", "Say whether a plane runs as a service."),
    },
)
GET = _group(
    "get",
    {"kubeconfig": ("kapy.cli.get:kubeconfig", "Print the kubeconfig of a workload cluster.")},
)
DESCRIBE = _group(
    "describe",
    {"cluster": ("kapy.cli.describe:cluster", "Show a cluster's objects and their state.")},
)
ALPHA = _group(
    "alpha",
    {"rollout": ("kapy.cli.groups:ROLLOUT", "Pause, resume or restart a rollout.")},
)
ROLLOUT = _group(
    "rollout",
    {
        "pause": ("kapy.cli.rollout:pause", "Pause what is named."),
        "resume": ("kapy.cli.rollout:resume", "Let what is named go on."),
        "restart": ("kapy.cli.rollout:restart", "Replace the Machines of what is named."),
    },
    "Pause, resume or restart the rollout of MachineDeployments and control planes.",
)
DEBUG = _group(
    "debug",
    {"collect": ("kapy.cli.debug_collect:collect", "Write an archive about one Cluster.")},
)
CONFIG = _group(
    "config",
    {
        "repositories": (
            "kapy.cli.repositories:repositories",
            "Display the list of providers and their repository configurations.",
        )
    },
)
GENERATE = _group(
    "generate",
    {
        "cluster": ("kapy.cli.generate_cluster:cluster", "Generate a workload cluster's YAML."),
        "provider": ("kapy.cli.generate_provider:provider", "Generate a provider's YAML."),
        "yaml": ("kapy.cli.generate_yaml:yaml", "Replace the variables in YAML."),
    },
)
UPGRADE = _group(
    "upgrade",
    {
        "plan": ("kapy.cli.upgrade:plan", "Say what the providers could be upgraded to."),
        "apply": ("kapy.cli.upgrade:apply", "Upgrade providers."),
    },
    "Upgrade core and provider components in a management cluster.",
)
BUNDLE = _group(
    "bundle",
    {
        "create": ("kapy.cli.bundle:create", "Put providers and lists of images into one file."),
        "load": ("kapy.cli.bundle:load", "Unpack such a file and work from it."),
        "push": ("kapy.cli.bundle:push", "Put such a file into a registry."),
    },
)
CERTIFICATES = _group(
    "certificates",
    {
        "list": ("kapy.cli.certificates:list_", "List what kapy issued."),
        "renew": ("kapy.cli.certificates:renew", "Make anew what is due."),
    },
    "Look after the certificates that kapy issued for webhooks of providers.",
)
HOOKS = _group(
    "hooks",
    {
        "list": ("kapy.cli.hooks:list_", "List the handlers that are registered."),
        "call": ("kapy.cli.hooks:call", "Call a registered handler and print its answer."),
        "watch": ("kapy.cli.hooks:watch", "Follow the calls of a plane as they happen."),
        "openapi": ("kapy.cli.hooks:openapi", "Print the OpenAPI document of all hooks."),
    },
    "Show what runtime extensions can be asked, and what they answer.",
)
EXTENSION = _group(
    "extension",
    {"serve": ("kapy.cli.extension:serve", "Serve the handlers of a Python module.")},
    "Run runtime extensions that are written in Python.",
)
NEW = _group(
    "new",
    {
        "extension": ("kapy.cli.new:extension", "Begin a runtime extension in Python."),
        "provider": ("kapy.cli.new:provider", "Begin a provider in Python."),
    },
    "Begin a project: code, tests, container file, and a release that clusterctl installs.",
)
CONFORMANCE = _group(
    "conformance",
    {
        "check": ("kapy.cli.conformance_check:check", "Check the files of a provider's release."),
        "run": ("kapy.cli.conformance_run:run", "Run a provider, and judge what it does."),
        "extension": (
            "kapy.cli.conformance_extension:extension",
            "Judge a running extension, in any language.",
        ),
    },
    "Check providers, in any language, by the contracts of Cluster API.",
)
