"""The controller options of `kapy up`: the flags of upstream's managers."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar, get_args

import click

from kapy.api.features import FeatureGates
from kapy.apps.feature_gates import notices
from kapy.apps.manager_flags import Flag, InvalidFlag, controller_config, flags_of
from kapy.apps.settings import EMBEDDED_GATES, ControllerConfig, ManagerName

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS: Final = flags_of("core", "kubeadm-bootstrap", "kubeadm-control-plane", "docker")


def controller_options(command: F) -> F:
    """Return the options, in the order of `--help`."""
    command = click.option(
        "--without",
        multiple=True,
        type=click.Choice(get_args(ManagerName)),
        help="A manager that is not run here, as somebody else runs it (`kapy manager`, or "
        "upstream's); may be repeated.",
    )(command)
    for flag in reversed(_FLAGS):
        command = flag_option(flag)(command)
    return command


def controller_config_of(
    values: Mapping[str, Any], gates: FeatureGates = EMBEDDED_GATES
) -> ControllerConfig:
    """Return the settings of the controllers. gates: the default feature gates. Raises
    click.UsageError.
    """
    texts = {flag.name: texts_of(flag, values) for flag in _FLAGS}
    try:
        config = controller_config(texts, gates=gates)
    except InvalidFlag as error:
        raise click.UsageError(str(error)) from None
    for sentence in notices(config.manager.gates):
        click.echo(sentence, err=True)
    host = os.environ.get("POD_IP", "")
    return replace(config, disabled_managers=frozenset(values["without"]), workload_host=host)


def flag_option(flag: Flag) -> Callable[[F], F]:
    """Return the option of one flag."""
    default = f" [default: {flag.default}]" if flag.default else ""
    if flag.switch:
        return click.option(f"--{flag.name}", is_flag=True, default=None, help=flag.help)
    return click.option(
        f"--{flag.name}",
        multiple=flag.several,
        default=None,
        metavar="TEXT",
        help=flag.help + default,
    )


def texts_of(flag: Flag, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the given texts of a flag."""
    value = values[flag.name.replace("-", "_")]
    if flag.several:
        return tuple(value)
    return () if value is None else (str(value),)
