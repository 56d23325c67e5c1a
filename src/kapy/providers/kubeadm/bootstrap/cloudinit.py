"""cloud-init user data around `kubeadm init` and `kubeadm join`, equal to upstream's to the byte.

Everything that describes the machine (files, users, disks …) is a document in Cluster API's
spelling, as it stands in `KubeadmConfig.spec`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from kapy.kube import Document

SENTINEL: Final = "echo success > /run/cluster-api/bootstrap-success.complete"
"""Leaves the file by which an infrastructure provider sees that bootstrapping succeeded."""

_HEADER: Final = "## template: jinja\n#cloud-config\n\n"
_PLACEHOLDER: Final = (
    "\n-   path: /run/cluster-api/placeholder"
    "\n    owner: root:root"
    "\n    permissions: '0640'"
    '\n    content: "This placeholder file is used to create the /run/cluster-api sub directory in'
    " a way that is compatible with both Linux and Windows (mkdir -p /run/cluster-api does not"
    ' work with Windows)"'
)
_INIT_PATH: Final = "/run/kubeadm/kubeadm.yaml"
_JOIN_PATH: Final = "/run/kubeadm/kubeadm-join-config.yaml"
_PARTITION_TYPES: Final = {
    "Linux": "83",
    "LinuxSwap": "82",
    "LinuxRAID": "fd",
    "LVM": "8e",
    "Fat32": "0c",
    "NTFS": "07",
    "LinuxExtended": "85",
}
_USER_FIELDS: Final = {
    "passwd": "passwd",
    "gecos": "gecos",
    "groups": "groups",
    "homeDir": "homedir",
    "inactive": "inactive",
    "lockPassword": "lock_passwd",
    "shell": "shell",
    "primaryGroup": "primary_group",
    "sudo": "sudo",
}
_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


@dataclass(frozen=True, slots=True)
class MachineSetup:
    """A machine's setup besides kubeadm; fields and shapes as in `KubeadmConfig.spec`.

    files: certificate files first. disk_setup, ntp: None if the spec has none. verbosity: `--v 5`,
    or nothing.
    """

    files: Sequence[Document] = ()
    boot_commands: Sequence[str] = ()
    pre_kubeadm_commands: Sequence[str] = ()
    post_kubeadm_commands: Sequence[str] = ()
    users: Sequence[Document] = ()
    ntp: Document | None = None
    disk_setup: Document | None = None
    mounts: Sequence[Sequence[str]] = ()
    verbosity: str = ""


def init_control_plane(
    setup: MachineSetup, cluster_configuration: str, init_configuration: str
) -> str:
    """User data of the machine that runs `kubeadm init`."""
    documents = [
        f"      ---\n{_indent(text)}" for text in (cluster_configuration, init_configuration)
    ]
    command = f"'kubeadm init --config {_INIT_PATH} {setup.verbosity} && {SENTINEL}'"
    return _user_data(setup, _INIT_PATH, "\n".join(documents), command)


def join_control_plane(setup: MachineSetup, join_configuration: str) -> str:
    """User data of another control plane machine."""
    return _user_data(setup, _JOIN_PATH, _indent(join_configuration), _join_command(setup))


def join_worker(setup: MachineSetup, join_configuration: str) -> str:
    """User data of a worker."""
    content = f"      ---\n{_indent(join_configuration)}"
    return _user_data(setup, _JOIN_PATH, content, _join_command(setup))


def _join_command(setup: MachineSetup) -> str:
    return f"kubeadm join --config {_JOIN_PATH} {setup.verbosity} && {SENTINEL}"


def _user_data(setup: MachineSetup, path: str, content: str, command: str) -> str:
    parts = [_HEADER, "write_files:"]
    parts += [_file(file) for file in setup.files]
    parts.append(f"\n-   path: {path}\n    owner: root:root\n    permissions: '0640'")
    parts += [f"\n    content: |\n{content}", _PLACEHOLDER]
    if setup.boot_commands:
        parts += ["\nbootcmd:", _commands(setup.boot_commands)]
    parts += ["\nruncmd:", _commands(setup.pre_kubeadm_commands)]
    parts += [f"\n  - {command}", _commands(setup.post_kubeadm_commands)]
    parts += [_ntp(setup.ntp), _users(setup.users), _disks(setup.disk_setup), _mounts(setup.mounts)]
    return "".join(parts) + "\n"


def _indent(text: str) -> str:
    return "      " + text.replace("\n", "\n      ")


def _file(file: Document) -> str:
    lines = [f"\n-   path: {file.get('path', '')}"]
    if encoding := file.get("encoding"):
        lines.append(f'    encoding: "{encoding}"')
    if owner := file.get("owner"):
        lines.append(f"    owner: {owner}")
    if permissions := file.get("permissions"):
        lines.append(f"    permissions: '{permissions}'")
    if (append := file.get("append")) is not None:
        lines.append(f"    append: {_plain(append)}")
    lines += ["    content: |", _indent(file.get("content", ""))]
    return "\n".join(lines)


def _commands(commands: Sequence[str]) -> str:
    return "".join(f"\n  - {quote(command)}" for command in commands)


def _ntp(ntp: Document | None) -> str:
    if ntp is None:
        return ""
    enabled = ntp.get("enabled")
    head = "\nntp:" if enabled is None else f"\nntp:\n  enabled: {_plain(enabled)}"
    return f"{head}\n  servers:" + "".join(
        f"\n    - {server}" for server in ntp.get("servers") or ()
    )


def _users(users: Sequence[Document]) -> str:
    return "\nusers:" + "".join(map(_user, users)) if users else ""


def _user(user: Document) -> str:
    lines = [f"\n  - name: {user.get('name', '')}"]
    for field, name in _USER_FIELDS.items():
        value = user.get(field)
        if value is not None and value != "":
            lines.append(f"    {name}: {_plain(value)}")
    if keys := user.get("sshAuthorizedKeys"):
        lines += ["    ssh_authorized_keys:", *(f"      - {key}" for key in keys)]
    return "\n".join(lines)


def _disks(setup: Document | None) -> str:
    if setup is None:
        return ""
    partitions = "".join(map(_partition, setup.get("partitions") or ()))
    filesystems = "".join(map(_filesystem, setup.get("filesystems") or ()))
    return f"\ndisk_setup:{partitions}\nfs_setup:{filesystems}"


def _partition(partition: Document) -> str:
    lines = [f"\n  {partition.get('device', '')}:"]
    if table := partition.get("tableType"):
        lines.append(f"    table_type: {table}")
    if layout := partition.get("diskLayout"):
        lines += ["    layout:", *map(_slice, layout)]
    else:
        lines.append(f"    layout: {_plain(partition.get('layout'))}")
    if (overwrite := partition.get("overwrite")) is not None:
        lines.append(f"    overwrite: {_plain(overwrite)}")
    return "\n".join(lines)


def _slice(part: Document) -> str:
    percentage, kind = part.get("percentage", 0), part.get("partitionType")
    if not kind:
        return f"      - {percentage}"
    return f"      - [{percentage}, {_PARTITION_TYPES.get(kind, kind)}]"


def _filesystem(filesystem: Document) -> str:
    lines = [
        f"\n  - label: {filesystem.get('label', '')}",
        f"    filesystem: {filesystem.get('filesystem', '')}",
        f"    device: {filesystem.get('device', '')}",
    ]
    if partition := filesystem.get("partition"):
        lines.append(f"    partition: {partition}")
    if (overwrite := filesystem.get("overwrite")) is not None:
        lines.append(f"    overwrite: {_plain(overwrite)}")
    if replaced := filesystem.get("replaceFS"):
        lines.append(f"    replace_fs: {replaced}")
    if options := filesystem.get("extraOpts"):
        lines += ["    extra_opts:", *(f"      - {option}" for option in options)]
    return "\n".join(lines)


def _mounts(mounts: Sequence[Sequence[str]]) -> str:
    if not mounts:
        return ""
    return "\nmounts:" + "".join(
        "\n  - " + "".join(f"- {point}\n    " for point in points) for points in mounts
    )


def _plain(value: Any) -> str:
    """Return a value as Go's templates print it."""
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def quote(text: str) -> str:
    """Format a text like Go's `%q`: a double-quoted string with non-printable characters
    escaped.
    """
    return '"' + "".join(_ESCAPES.get(sign) or _escape(sign) for sign in text) + '"'


def _escape(sign: str) -> str:
    if sign.isprintable():
        return sign
    code = ord(sign)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
