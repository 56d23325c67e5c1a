"""Resolves the setup of a machine besides kubeadm, including all references of a KubeadmConfig."""

from __future__ import annotations

from collections.abc import Sequence

from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.gotemplate import BadTemplate, CannotRender, parse
from kapy.kube.model import encode
from kapy.kube.names import SECRETS
from kapy.kube.version import parse_tolerant
from kapy.providers.kubeadm.bootstrap.cloudinit import MachineSetup
from kapy.providers.kubeadm.bootstrap.discovery import kubeconfig_file
from kapy.providers.kubeadm.bootstrap.scope import Scope
from kapy.remote.secrets import secret_value


class Unresolved(KapyError):
    """An object that the KubeadmConfig refers to cannot be read."""


async def machine_setup(scope: Scope, certificate_files: Sequence[Document]) -> MachineSetup:
    """Return the setup, certificate files first. Raises Unresolved; a condition reports the reason,
    too.
    """
    spec = scope.config.spec
    try:
        files = await _files(scope)
    except KapyError as error:
        scope.data_failed(f"Failed to prepare spec.files: {error}", error)
        raise
    try:
        users = await _users(scope)
    except KapyError as error:
        scope.data_failed("Failed to read password from secrets for spec.users", error)
        raise
    discovery = spec.join_configuration.discovery.file
    kubeconfig = kubeconfig_file(discovery) if discovery is not None else None
    if kubeconfig is not None:
        files.append(kubeconfig)
    return MachineSetup(
        files=[*certificate_files, *files],
        boot_commands=spec.boot_commands,
        pre_kubeadm_commands=spec.pre_kubeadm_commands,
        post_kubeadm_commands=spec.post_kubeadm_commands,
        users=users,
        ntp=encode(spec.ntp) or None,
        disk_setup=encode(spec.disk_setup) or None,
        mounts=spec.mounts,
        verbosity="" if spec.verbosity is None else f"--v {spec.verbosity}",
    )


async def _files(scope: Scope) -> list[Document]:
    files = []
    for entry in scope.config.spec.files:
        file = encode(entry)
        source = entry.content_from
        if source is not None:
            del file["contentFrom"]
            file["content"] = await _secret_text(
                scope, source.secret.name, source.secret.key, "file"
            )
        files.append(file)
    for file in files:
        if file.pop("contentFormat", "") == "Template":
            file["content"] = _render_file(file, await _template_data(scope))
    return files


def _render_file(file: Document, data: Document) -> str:
    path = file["path"]
    try:
        return parse(file.get("content", ""), name=path).render(data)
    except (BadTemplate, CannotRender) as error:
        doing = "parse" if isinstance(error, BadTemplate) else "execute"
        raise Unresolved(
            f'failed to render templates: failed to {doing} template for file "{path}": {error}'
        ) from error


async def _template_data(scope: Scope) -> Document:
    """Return the variables for templates of files: the version of the control plane, if it
    has one.
    """
    version = await scope.dependencies.control_plane_version(scope.cluster)
    if not version:
        return {}
    return {"controlPlane": {"version": f"v{parse_tolerant(version)}"}}


async def _users(scope: Scope) -> list[Document]:
    users = []
    for entry in scope.config.spec.users:
        user = encode(entry)
        source = entry.passwd_from
        if source is not None:
            del user["passwdFrom"]
            user["passwd"] = await _secret_text(
                scope, source.secret.name, source.secret.key, "passwd"
            )
        users.append(user)
    return users


async def _secret_text(scope: Scope, name: str, key: str, what: str) -> str:
    where = Key(scope.config.metadata.namespace, name)
    try:
        secret = await scope.dependencies.runtime.client.get(SECRETS, where)
    except NotFound as error:
        raise Unresolved(f"failed to resolve {what} source: secret not found: {where}") from error
    value = secret_value(secret, key)
    if value is None:
        raise Unresolved(
            f'failed to resolve {what} source: secret references non-existent secret key: "{key}"'
        )
    return value.decode("utf-8", "replace")
