"""The options of a controller program: a manager of kapy, or any provider."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kapy.apps.feature_gates import notices
from kapy.apps.manager_flags import InvalidFlag, controller_config
from kapy.apps.manager_flags import Manager as Kind
from kapy.apps.manager_flags import flags_of as flags_of_controllers
from kapy.apps.program.options import ProgramOptions, parse_options
from kapy.apps.program.options import flags_of as flags_of_program
from kapy.apps.settings import ControllerConfig
from kapy.cli.controller_options import flag_option, texts_of

if TYPE_CHECKING:
    from kapy.client.kubeconfig import Kubeconfig

F = TypeVar("F", bound=Callable[..., Any])


def options_of(kind: Kind) -> Callable[[F], F]:
    """Return the options, in the order of `--help`."""
    options = [
        click.option("--kubeconfig", default="", help="Kubeconfig of the management cluster."),
        click.option("--kubeconfig-context", default="", help="Context to use in it."),
        *(flag_option(flag) for flag in [*flags_of_controllers(kind), *flags_of_program(kind)]),
        click.option("-v", "--v", type=int, default=2, show_default=True, help="Log level."),
        click.option(
            "--logging-format",
            type=click.Choice(["text", "json"]),
            default="text",
            show_default=True,
            help="Form of the log on standard error.",
        ),
    ]

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def program_settings(
    kind: Kind, values: Mapping[str, Any]
) -> tuple[ControllerConfig, ProgramOptions]:
    """Return the settings from options. Raises click.UsageError."""
    flags, own = flags_of_controllers(kind), flags_of_program(kind)
    try:
        controllers = controller_config({flag.name: texts_of(flag, values) for flag in flags})
        options = parse_options(kind, {flag.name: texts_of(flag, values) for flag in own})
    except InvalidFlag as error:
        raise click.UsageError(str(error)) from None
    for sentence in notices(controllers.manager.gates):
        click.echo(sentence, err=True)
    return controllers, options


def access_of(values: Mapping[str, Any]) -> Kubeconfig:
    """Return the access to the API server from options. Raises KubeconfigError."""
    from kapy.client.session import access

    return access(values["kubeconfig"], values["kubeconfig_context"], os.environ)


def configure_log(values: Mapping[str, Any]) -> None:
    """Configure the log level and format from options."""
    from kapy.apps.program.diagnostics import set_level
    from kapy.cli.log_lines import log_to_stderr

    log_to_stderr(0, values["logging_format"])
    set_level(values["v"])
