"""Credentials from an exec plugin: `users[].user.exec` of a kubeconfig.

The program runs without a terminal and gets its request in `KUBERNETES_EXEC_INFO`. It prints an
ExecCredential (`client.authentication.k8s.io`, v1 or v1beta1) with a token, a client certificate or
both, and their expiry.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import msgspec

from kapy.kube import Document
from kapy.kube.errors import Unreachable
from kapy.kube.foreign_json import decode_json

GROUP: Final = "client.authentication.k8s.io"
VERSIONS: Final = (f"{GROUP}/v1", f"{GROUP}/v1beta1")
INFO: Final = "KUBERNETES_EXEC_INFO"
EXTENSION: Final = f"{GROUP}/exec"
TIMEOUT: Final = 60.0  # seconds that the program may take


class NoCredentials(Unreachable):
    """No credential is available; no request was sent."""


class Credential(NamedTuple):
    """A client's credential: a bearer token, a client certificate with its key, or both. expires:
    the time of its expiry, None if unknown.
    """

    token: str = ""
    certificate: bytes = b""
    key: bytes = b""
    expires: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """The command of an exec plugin. cluster: the server's details that the plugin receives
    (`provideClusterInfo`), or None. hint: the instructions for users to install the plugin.
    """

    api_version: str
    command: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    cluster: Document | None = field(default=None, repr=False)
    hint: str = ""


def plugin_of(exec_config: Document, cluster: Document) -> ExecPlugin:
    """Return the exec plugin of a kubeconfig's user, for a cluster. Raises ValueError with the
    problem.
    """
    version = str(exec_config.get("apiVersion") or "")
    command = str(exec_config.get("command") or "")
    if version not in VERSIONS:
        raise ValueError(f"apiVersion is {version!r}; it can be {' or '.join(VERSIONS)}")
    if not command:
        raise ValueError("names no command")
    if exec_config.get("interactiveMode") == "Always":
        raise ValueError(
            "interactiveMode is Always, and nobody is there to be asked; a kubeconfig for programs "
            "has a user that needs no terminal"
        )
    return ExecPlugin(
        api_version=version,
        command=command,
        arguments=tuple(str(item) for item in exec_config.get("args") or ()),
        environment={
            str(item["name"]): str(item["value"]) for item in exec_config.get("env") or ()
        },
        cluster=_cluster_info(cluster) if exec_config.get("provideClusterInfo") is True else None,
        hint=str(exec_config.get("installHint") or ""),
    )


def _cluster_info(cluster: Document) -> Document:
    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
    info = {name: cluster[name] for name in names if cluster.get(name)}
    if authority := cluster.get("certificate-authority-data"):
        info["certificate-authority-data"] = authority
    for extension in cluster.get("extensions") or ():
        if extension.get("name") == EXTENSION:
            info["config"] = extension.get("extension")
    return info


def run_plugin(plugin: ExecPlugin) -> Credential:
    """Run the plugin; returns its credential. Raises NoCredentials."""
    import subprocess  # most kubeconfigs name no program

    spec: Document = {"interactive": False}
    if plugin.cluster is not None:
        spec["cluster"] = plugin.cluster
    info = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    environment = {**os.environ, **plugin.environment, INFO: msgspec.json.encode(info).decode()}
    try:
        ended = subprocess.run(
            [plugin.command, *plugin.arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _plugin_error(plugin, f"it did not end within {TIMEOUT:g} seconds") from None
    except OSError as error:
        hint = f" ({plugin.hint.strip()})" if plugin.hint else ""
        raise _plugin_error(plugin, f"{error.strerror or error}{hint}") from None
    if ended.returncode:
        said = ended.stderr.decode("utf-8", "replace").strip()[-500:]
        raise _plugin_error(
            plugin, f"it ended with {ended.returncode}: {said or 'it said nothing'}"
        )
    return _read(plugin, ended.stdout)


def _read(plugin: ExecPlugin, answer: bytes) -> Credential:
    try:
        result: Any = decode_json(answer)
        version, status = result["apiVersion"], result.get("status") or {}
        token = status.get("token") or ""
        certificate = (status.get("clientCertificateData") or "").encode()
        key = (status.get("clientKeyData") or "").encode()
        ends = status.get("expirationTimestamp")
        until = None if not ends else datetime.fromisoformat(ends)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise _plugin_error(plugin, "it did not print an ExecCredential") from None
    if version != plugin.api_version:
        raise _plugin_error(plugin, f"it answered in version {version}, not {plugin.api_version}")
    if bool(certificate) is not bool(key):
        raise _plugin_error(
            plugin, "it gave a certificate without its key, or a key without a certificate"
        )
    if not token and not certificate:
        raise _plugin_error(plugin, "it gave neither a token nor a certificate")
    return Credential(token, certificate, key, until)


def _plugin_error(plugin: ExecPlugin, reason: str) -> NoCredentials:
    return NoCredentials(
        f"no credentials from {plugin.command}, which the kubeconfig names: {reason}"
    )
