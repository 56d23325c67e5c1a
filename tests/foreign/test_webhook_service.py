"""A plane asks a webhook that listens elsewhere than at its Service."""

from __future__ import annotations

import base64
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from kapy.kube import pki
from tests.e2e.shell import Shell
from tests.foreign.program import Program, running, until

GUARD = Path(__file__).parent / "guard.py"

pytestmark = pytest.mark.sockets


def certified(home: Path) -> str:
    """Make the webhook's certificate; its authority as `caBundle`."""
    now = datetime.now(UTC)  # noqa: TID251
    authority = pki.new_ca("hooks", now=now, algorithm="ECDSA-P256")
    leaf = pki.issue(
        authority,
        "guard",
        now=now,
        names=["guard.hooks.svc"],
        usages=("server",),
        algorithm="ECDSA-P256",
    )
    (home / "tls.crt").write_bytes(leaf.certificate)
    (home / "tls.key").write_bytes(leaf.key)
    return base64.b64encode(authority.certificate).decode()


def configuration(bundle: str) -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    service = {"namespace": "hooks", "name": "guard", "path": "/validate"}
    return {
        "metadata": {"name": "guard"},
        "webhooks": [
            {
                "name": "guard.example.dev",
                "clientConfig": {"service": service, "caBundle": bundle},
                "rules": [{**rule, "resources": ["configmaps"]}],
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
            }
        ],
    }


def said(program: Program) -> str:
    """Return the first word that a program prints."""
    return until("the program begins", lambda: program.log.read_text().strip()).split()[0]


def test_a_webhook_is_called_at_the_configured_address(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    bundle = certified(tmp_path)
    with running(shell, "guard", sys.executable, GUARD, "tls.crt", "tls.key") as guard:
        place = f"hooks/guard=127.0.0.1:{said(guard)}"
        up = ("kapy", "up", "--in-memory", "--port", "0", "--webhook-service", place)
        with running(shell, "plane", *up) as plane:
            until("the plane is up", lambda: "kubectl context" in plane.log.read_text())
            api = config.new_client_from_config(str(tmp_path / ".kube" / "config"))
            client.AdmissionregistrationV1Api(api).create_validating_webhook_configuration(
                configuration(bundle)
            )
            core = client.CoreV1Api(api)
            with pytest.raises(client.ApiException) as refused:
                core.create_namespaced_config_map("default", {"metadata": {"name": "note"}})
            assert refused.value.status == 403
            assert "no note for kubernetes-admin" in str(refused.value.body)
            assert plane.stop() == 0
