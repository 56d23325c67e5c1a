"""The API server options of `kapy up`: limits, audit (as in kube-apiserver), webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from kapy.apiserver.request.limits.max_in_flight import Limits
from kapy.apps.settings import AuditLog
from kapy.cli.webhook_services import METAVAR

F = TypeVar("F", bound=Callable[..., Any])

_COUNT = click.IntRange(min=0)
_LIMITS = Limits()


def server_options(command: F) -> F:
    """The options, in the order of `--help`."""
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
    """The limits of requests in flight."""
    return Limits(values["max_requests_inflight"], values["max_mutating_requests_inflight"])


def audit_of(values: Mapping[str, Any]) -> AuditLog | None:
    """The audit log settings, None without an audit log. Raises click.UsageError."""
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
