"""`kapy manager`: runs one of kapy's managers against any Kubernetes API server."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from kapy.apps.manager_flags import Manager as Kind
from kapy.cli.flags import command
from kapy.cli.program_options import access_of, configure_log, options_of, program_settings

if TYPE_CHECKING:
    from kapy._aio.services import Service
    from kapy.apps.program.options import ProgramOptions
    from kapy.apps.settings import ControllerConfig, ExtensionCalls
    from kapy.client.kubeconfig import Kubeconfig
    from kapy.engine.runtime import Runtime
    from kapy.hooks.transport import HookTransport

KINDS: Final[dict[str, Kind]] = {
    "core": "core",
    "bootstrap-kubeadm": "kubeadm-bootstrap",
    "control-plane-kubeadm": "kubeadm-control-plane",
    "infrastructure-dev": "docker",
}
"""The managers, and whose flags of upstream they have."""


def _command(name: str) -> click.Command:
    kind = KINDS[name]

    @command(name, help=f"Run the {name} manager until it is stopped.")
    @options_of(kind)
    def run(**flags: Any) -> None:
        configure_log(flags)
        controllers, options = program_settings(kind, flags)
        _run(name, access_of(flags), controllers, options)

    result: click.Command = run
    return result


def _run(
    name: str, access: Kubeconfig, controllers: ControllerConfig, options: ProgramOptions
) -> None:
    from kapy._aio.clock import system_clock
    from kapy.apps.manager.programs import PROGRAMS, Connections
    from kapy.apps.manager.webhooks import webhooks_of_manager
    from kapy.apps.program.process import Process, run_process
    from kapy.apps.transports import rate_limited
    from kapy.cli.program import run_until_stopped
    from kapy.client.server_version import OLDEST, OLDEST_WITH_CLASSES

    program, post = PROGRAMS[name], partial(_extension_transport, controllers.extensions)
    gates = controllers.manager.gates
    has_classes = name == "core" and gates.cluster_topology
    process = Process(
        name=program.name,
        lease=program.lease,
        service=program.service,
        provider=program.provider,
        access=access,
        webhooks=partial(webhooks_of_manager, gates, post),
        needed=OLDEST_WITH_CLASSES if has_classes else OLDEST,
        options=options,
        manager_options=controllers.manager,
    )
    pace = partial(rate_limited, options.remote_qps, options.remote_burst)
    connections = Connections(post, pace)

    def add(runtime: Runtime) -> Mapping[str, Service]:
        return program.add(runtime, controllers, connections)

    run_until_stopped(run_process(process, add, system_clock), program.name, access.server)


def _extension_transport(settings: ExtensionCalls) -> HookTransport:
    from kapy.apps.extensions.transport import https_transport

    return https_transport(settings)


CORE: Final = _command("core")
BOOTSTRAP_KUBEADM: Final = _command("bootstrap-kubeadm")
CONTROL_PLANE_KUBEADM: Final = _command("control-plane-kubeadm")
INFRASTRUCTURE_DEV: Final = _command("infrastructure-dev")
