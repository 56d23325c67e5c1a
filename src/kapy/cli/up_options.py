"""The options of `kapy up`: limits, audit (as in kube-apiserver), webhooks, runtime extensions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import click

from kapy.api.features import FeatureGates
from kapy.apiserver.request.limits.max_in_flight import Limits
from kapy.apps.extension_server.configured_extensions import (
    BadExtension,
    ConfiguredExtension,
    parse_extension,
)
from kapy.apps.settings import EMBEDDED_GATES, AuditLog
from kapy.cli.webhook_services import METAVAR

F = TypeVar("F", bound=Callable[..., Any])


def extension_options(command: F) -> F:
    """Return the options, in the order of `--help`."""
    for option in (
        click.option(
            "--extension-ca",
            type=click.Path(path_type=Path, exists=True, dir_okay=False),
            help="PEM file of whom to trust at the URLs of --extension.",
        ),
        click.option(
            "--extension",
            "extensions",
            multiple=True,
            metavar="[NAME=]URL|MODULE[:ATTRIBUTE]",
            help="Runtime extension to ask: one that runs, or a Python module that is started in "
            "a process of its own; may be repeated. Opens the feature gate RuntimeSDK.",
        ),
    ):
        command = option(command)
    return command


def extensions_of(values: Mapping[str, Any]) -> Sequence[ConfiguredExtension]:
    """Return the extensions that the options configure. Raises click.UsageError."""
    ca = values["extension_ca"]
    try:
        extensions = [
            parse_extension(extension, ca.read_bytes() if ca else b"")
            for extension in values["extensions"]
        ]
    except BadExtension as error:
        raise click.UsageError(f"--extension: {error}") from None
    names = [extension.name for extension in extensions]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise click.UsageError(
            f"--extension: {twice[0]} is the name of two extensions; name one of them: NAME=…"
        )
    return extensions


def gates_for(values: Mapping[str, Any]) -> FeatureGates:
    """Return the default feature gates, with RuntimeSDK enabled if there are extensions."""
    return replace(EMBEDDED_GATES, runtime_sdk=bool(values["extensions"]))


_COUNT = click.IntRange(min=0)
_LIMITS = Limits()


def server_options(command: F) -> F:
    """Return the options, in the order of `--help`."""
    for option in reversed(
        (
            click.option(
                "--max-requests-inflight",
                type=_COUNT,
                default=_LIMITS.reading,
                show_default=True,
                help="Reads over the network at once; the rest gets 429. 0: no limit.",
            ),
            click.option(
                "--max-mutating-requests-inflight",
                type=_COUNT,
                default=_LIMITS.mutating,
                show_default=True,
                help="The same for writes.",
            ),
            click.option("--audit-log-path", default="", help="Audit log; - for standard output."),
            click.option(
                "--audit-policy-file",
                default="",
                help="File with the audit policy (audit.k8s.io/v1 Policy).",
            ),
            click.option(
                "--audit-log-maxsize",
                type=_COUNT,
                default=0,
                help="Megabytes of one audit file (0: 100).",
            ),
            click.option(
                "--audit-log-maxage",
                type=_COUNT,
                default=0,
                help="Days to keep full audit files (0: for ever).",
            ),
            click.option(
                "--audit-log-maxbackup",
                type=_COUNT,
                default=0,
                help="Full audit files to keep (0: all).",
            ),
            click.option(
                "--webhook-service",
                multiple=True,
                metavar=METAVAR,
                help="Address of a Service that webhooks or conversions name; may be repeated.",
            ),
        )
    ):
        command = option(command)
    return command


def limits_of(values: Mapping[str, Any]) -> Limits:
    """Return the limits of requests in flight."""
    return Limits(values["max_requests_inflight"], values["max_mutating_requests_inflight"])


def audit_of(values: Mapping[str, Any]) -> AuditLog | None:
    """Return the audit log settings, None without an audit log. Raises click.UsageError."""
    path, policy = values["audit_log_path"], values["audit_policy_file"]
    if not path:
        if policy:
            raise click.UsageError("--audit-policy-file needs --audit-log-path")
        return None
    return AuditLog(
        path=path,
        policy=Path(policy) if policy else None,
        megabytes=values["audit_log_maxsize"],
        days=values["audit_log_maxage"],
        backups=values["audit_log_maxbackup"],
    )
