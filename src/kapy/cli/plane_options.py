"""A plane's command line options; parsing them does not import the plane (a second of imports)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kapy.apps.settings import (
    DEFAULT_PORT,
    LOOPBACK,
    ApiProcessCount,
    AuditLog,
    ControllerConfig,
    Durability,
    Folder,
    Processes,
    RunPods,
)
from kapy.cli.process_count import ProcessCount

if TYPE_CHECKING:
    from kapy.apiserver.request.limits.max_in_flight import Limits
    from kapy.apps.extension_server.configured_extensions import ConfiguredExtension
    from kapy.sdk.provider import Provider

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class PlaneOptions:
    """The options of a plane.

    folder: the folder of the plane, None for a plane that writes nothing to disk. port: the port of
    the API server, None for the default port, or any free one if that is in use.
    """

    name: str
    folder: Folder | None
    in_memory: bool
    host: str
    port: int | None
    token_file: str
    kubeconfig: str
    limits: Limits | None = None
    audit: AuditLog | None = None
    services: Mapping[tuple[str, str, int], str] = field(default_factory=dict)
    durability: Durability = "crash"
    accept_data_loss: bool = False
    replace_keys: bool = False
    controlling: ControllerConfig = field(default_factory=ControllerConfig)
    providers: tuple[Provider, ...] = ()
    extensions: Sequence[ConfiguredExtension] = ()
    run_pods: RunPods = "processes"
    processes: Processes = 1
    api_processes: ApiProcessCount = 0


def plane_options(command: F) -> F:
    """Return the options of commands that run a plane."""
    for option in (
        click.option(
            "--kubeconfig",
            default="",
            help="File to write the plane's context to, instead of $KUBECONFIG or ~/.kube/config.",
        ),
        click.option(
            "--token-auth-file",
            "token_file",
            default="",
            help="CSV file of token, user, uid and groups, as kube-apiserver's.",
        ),
        click.option(
            "--bind-address",
            "host",
            default=LOOPBACK,
            show_default=True,
            help="Address to listen on.",
        ),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=None,
            help=f"Port to listen on; {DEFAULT_PORT} or a free one by default.",
        ),
        click.option("--in-memory", is_flag=True, help="Keep nothing on disk."),
        click.option("--data-dir", default="", help="Folder of the plane's data."),
    ):
        command = option(command)
    return command


def processes_option(command: F) -> F:
    """Return the option for the number of processes."""
    return click.option(
        "--processes",
        type=ProcessCount(),
        default="1",
        show_default=True,
        help="Processes that the controllers of clusters run in, this one included; auto: as many "
        "as are of use here, from 100 clusters on.",
    )(command)


def api_processes_option(command: F) -> F:
    """Return the option for the number of processes that serve the API server."""
    return click.option(
        "--api-processes",
        type=ProcessCount(least=0),
        default="0",
        show_default=True,
        help="Processes beside this one that serve the API server over the network; 0: this one "
        "serves it; auto: one for each core.",
    )(command)
