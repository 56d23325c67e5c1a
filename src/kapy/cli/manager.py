"""`kapy manager`: one of kapy's managers, at any Kubernetes API server."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from kapy.apps.feature_gates import notices
from kapy.apps.manager_flags import BadFlag, controlling, flags_of
from kapy.apps.manager_flags import Manager as Kind
from kapy.apps.program.options import flags_of as own_flags_of
from kapy.apps.program.options import managing
from kapy.cli.controller_options import flag_option, texts_of
from kapy.cli.flags import command
from kapy.cli.reaching import own_access

if TYPE_CHECKING:
    from kapy.apps.program.running import Adding, Manager
    from kapy.apps.settings import ExtensionCalls
    from kapy.hooks.posting import Post

KINDS: Final[dict[str, Kind]] = {
    "core": "core",
    "bootstrap-kubeadm": "kubeadm-bootstrap",
    "control-plane-kubeadm": "kubeadm-control-plane",
    "infrastructure-dev": "docker",
}
"""The managers, and whose flags of upstream they have."""


def _command(name: str) -> click.Command:
    kind = KINDS[name]
    flags, own = flags_of(kind), own_flags_of(kind)

    def run(
        *, kubeconfig: str, kubeconfig_context: str, v: int, logging_format: str, **given: Any
    ) -> None:
        from kapy.apps.program.diagnostics import set_level
        from kapy.apps.program.running import Manager
        from kapy.cli.event_loop import run as run_loop
        from kapy.cli.log_lines import log_to_stderr

        log_to_stderr(0, logging_format)
        set_level(v)
        try:
            controllers = controlling({one.name: texts_of(one, given) for one in flags})
            told = managing(kind, {one.name: texts_of(one, given) for one in own})
        except BadFlag as error:
            raise click.UsageError(str(error)) from None
        for sentence in notices(controllers.manager.gates):
            click.echo(sentence, err=True)
        from kapy.apps.manager.programs import PROGRAMS, Outside

        program = PROGRAMS[name]
        manager = Manager(
            name=program.name,
            lease=program.lease,
            service=program.service,
            provider=program.provider,
            access=own_access(kubeconfig, kubeconfig_context),
            told=told,
            options=controllers.manager,
        )
        outside = Outside(partial(_post, controllers.extensions))
        run_loop(_run(manager, lambda runtime: program.add(runtime, controllers, outside)))

    options = [
        click.option("--kubeconfig", default="", help="Kubeconfig of the management cluster."),
        click.option("--kubeconfig-context", default="", help="Context to use in it."),
        *(flag_option(one) for one in [*flags, *own]),
        click.option("-v", "--v", type=int, default=2, show_default=True, help="How much is said."),
        click.option(
            "--logging-format",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="Form of the log on standard error.",
        ),
    ]
    for option in reversed(options):
        run = option(run)
    return command(name, help=f"Run the {name} manager until it is stopped.")(run)


def _post(told: ExtensionCalls) -> Post:
    from kapy.apps.extensions.posting import https

    return https(told)


async def _run(manager: Manager, add: Adding) -> None:
    from kapy._aio.clock import system_clock
    from kapy.apps.program.running import managed
    from kapy.cli.stopping import told_to_stop

    with told_to_stop() as asked:
        async with managed(manager, add, system_clock):
            click.echo(f"{manager.name} is at {manager.access.server}")
            sys.stdout.flush()
            await asked.wait()
            click.echo("stopping")
        click.echo("stopped")


CORE: Final = _command("core")
BOOTSTRAP_KUBEADM: Final = _command("bootstrap-kubeadm")
CONTROL_PLANE_KUBEADM: Final = _command("control-plane-kubeadm")
INFRASTRUCTURE_DEV: Final = _command("infrastructure-dev")
