"""A machine's setup as a Container Linux Config, before it is translated to Ignition.

As in upstream, texts of the setup are inserted into YAML unquoted. If they make it invalid, the
translation, which is strict for this config, refuses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.boot import SUCCEEDED
from kapy.kube.errors import KapyError
from kapy.providers.kubeadm.bootstrap.cloudinit import MachineSetup

KUBEADM_FILE: Final = "/etc/kubeadm.yml"

_UNIT: Final = """
systemd:
  units:
    - name: kubeadm.service
      enabled: true
      contents: |
        [Unit]
        Description=kubeadm
        # Run only once. After successful run, this file is moved to /tmp/.
        ConditionPathExists=/etc/kubeadm.yml
        After=network.target
        [Service]
        # To not restart the unit when it exits, as it is expected.
        Type=oneshot
        ExecStart=/etc/kubeadm.sh
        [Install]
        WantedBy=multi-user.target"""
_NTP_UNIT: Final = """
    - name: ntpd.service
      enabled: true"""
_MOUNT: Final = """
    - name: {unit}.mount
      enabled: true
      contents: |
        [Unit]
        Description = Mount {label}

        [Mount]
        What={device}
        Where={point}
        Options={options}

        [Install]
        WantedBy=multi-user.target"""
_SSHD: Final = """
    - path: /etc/ssh/sshd_config
      mode: 0600
      contents:
        inline: |
          # Use most defaults for sshd configuration.
          Subsystem sftp internal-sftp
          ClientAliveInterval 180
          UseDNS no
          UsePAM yes
          PrintLastLog no # handled by PAM
          PrintMotd no # handled by PAM

          Match User {users}
            PasswordAuthentication yes"""
_NTP_FILE: Final = """
    - path: /etc/ntp.conf
      mode: 0644
      contents:
        inline: |
          # Common pool{servers}

          # Warning: Using default NTP settings will leave your NTP
          # server accessible to all hosts on the Internet.

          # If you want to deny all machines (including your own)
          # from accessing the NTP server, uncomment:
          #restrict default ignore

          # Default configuration:
          # - Allow only time queries, at a limited rate, sending KoD when in excess.
          # - Allow all local queries (IPv4, IPv6)
          restrict default nomodify nopeer noquery notrap limited kod
          restrict 127.0.0.1
          restrict [::1]"""
_USER_FIELDS: Final = {
    "homeDir": "home_dir",
    "shell": "shell",
    "passwd": "password_hash",
    "primaryGroup": "primary_group",
}


class CannotRender(KapyError):
    """The setup of a machine cannot be expressed as a Container Linux Config."""


def container_linux_config(setup: MachineSetup, subcommand: str, configuration: str) -> str:
    """Return the config of a machine that runs `kubeadm SUBCOMMAND` once. Raises CannotRender.

    configuration: kubeadm's, without the first `---`.
    """
    parts = ["---", _users(setup.users), _UNIT, _units(setup), "\nstorage:"]
    parts += [*_disks(setup.disk_setup or {}), "\n  files:"]
    parts += [*map(_sudoers, setup.users), _password_logins(setup.users)]
    parts += [*map(_file, setup.files), _script(setup, subcommand)]
    parts.append(f"\n    - path: {KUBEADM_FILE}\n      mode: 0600\n      contents:")
    parts.append(f"\n        inline: |\n          ---\n          {_indent(configuration)}")
    if _uses_ntp(setup) and (servers := (setup.ntp or {}).get("servers")):
        lines = "".join(f"\n          server {server}" for server in servers)
        parts.append(_NTP_FILE.format(servers=lines))
    return "".join(parts) + "\n"


def _indent(text: str) -> str:
    return text.replace("\n", "\n          ")


def _go_text(value: Any) -> str:
    """Return a value as Go's templates print it."""
    if value is None:
        return "<nil>"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _users(users: Sequence[Document]) -> str:
    return "\npasswd:\n  users:" + "".join(map(_user, users)) if users else ""


def _user(user: Document) -> str:
    lines = [f"\n    - name: {user.get('name', '')}"]
    if gecos := user.get("gecos"):
        lines.append(f"      gecos: {gecos}")
    if groups := user.get("groups"):
        lines += ["      groups:", *(f"        - {part}" for part in groups.split(", "))]
    for field, name in _USER_FIELDS.items():
        if value := user.get(field):
            lines.append(f"      {name}: {value}")
    if keys := user.get("sshAuthorizedKeys"):
        lines += ["      ssh_authorized_keys:", *(f"        - {key}" for key in keys)]
    return "\n".join(lines)


def _uses_ntp(setup: MachineSetup) -> bool:
    """Return whether NTP is set up: `enabled: false` counts too, as with upstream."""
    return setup.ntp is not None and setup.ntp.get("enabled") is not None


def _units(setup: MachineSetup) -> str:
    filesystems = (setup.disk_setup or {}).get("filesystems") or ()
    devices = {
        filesystem.get("label", ""): filesystem.get("device", "") for filesystem in filesystems
    }
    mounts = "".join(_mount(points, devices) for points in setup.mounts)
    return (_NTP_UNIT if _uses_ntp(setup) else "") + mounts


def _mount(points: Sequence[str], devices: dict[str, str]) -> str:
    if len(points) < 2:  # a label and a folder
        raise CannotRender(f"mounts: {list(points)} has no mount point")
    label, point, *options = points
    return _MOUNT.format(
        unit=point.replace("/", "-").removeprefix("-"),
        label=label,
        device=devices.get(label, ""),
        point=point,
        options=",".join(options),
    )


def _disks(setup: Document) -> Iterator[str]:
    if partitions := setup.get("partitions"):
        yield "\n  disks:"
        yield from map(_partition, partitions)
    if filesystems := setup.get("filesystems"):
        yield "\n  filesystems:"
        yield from map(_filesystem, filesystems)


def _partition(partition: Document) -> str:
    text = f"\n    - device: {partition.get('device', '')}"
    if (overwrite := partition.get("overwrite")) is not None:
        text += f"\n      wipe_table: {_go_text(overwrite)}"
    if partition.get("layout") is not None:
        text += "\n      partitions:\n      - {}"
    return text


def _filesystem(filesystem: Document) -> str:
    label = filesystem.get("label", "")
    lines = [
        f"\n    - name: {label}",
        "      mount:",
        f"        device: {filesystem.get('device', '')}",
        f"        format: {filesystem.get('filesystem', '')}",
        f"        wipe_filesystem: {_go_text(filesystem.get('overwrite'))}",
        f"        label: {label}",
    ]
    if options := filesystem.get("extraOpts"):
        lines += ["        options:", *(f"          - {option}" for option in options)]
    return "\n".join(lines)


def _sudoers(user: Document) -> str:
    if not (sudo := user.get("sudo")):
        return ""
    name = user.get("name", "")
    head = f"\n    - path: /etc/sudoers.d/{name}\n      mode: 0600\n      contents:"
    return f"{head}\n        inline: |\n          {name} {sudo}"


def _password_logins(users: Sequence[Document]) -> str:
    names = [user.get("name", "") for user in users if user.get("lockPassword") is False]
    joined = ",".join(names)
    return _SSHD.format(users=joined) if joined else ""


def _file(file: Document) -> str:
    user, group = _owner(file.get("owner") or "")
    permissions = file.get("permissions") or ""
    inline = "inline: !!binary |" if file.get("encoding") == "base64" else "inline: |"
    return "".join(
        (
            f"\n    - path: {file.get('path', '')}\n      ",
            f"user:\n        name: {user}" if user is not None else "",
            "\n      ",
            f"group:\n        name: {group}" if group is not None else "",
            "\n      # Owner\n      ",
            f"mode: {permissions}\n      " if permissions else "",
            f"contents:\n        {inline}\n          {_indent(file.get('content', ''))}",
        )
    )


def _owner(owner: str) -> tuple[str | None, str | None]:
    user, _, group = owner.partition(":")
    group = group.partition(":")[0]
    return user.strip() if user else None, group.strip() if group else None


def _script(setup: MachineSetup, subcommand: str) -> str:
    before = "".join(f"\n          {_indent(command)}" for command in setup.pre_kubeadm_commands)
    after = "".join(f"\n          {_indent(command)}" for command in setup.post_kubeadm_commands)
    lines = [
        "\n    - path: /etc/kubeadm.sh",
        "      mode: 0700",
        "      contents:",
        "        inline: |",
        "          #!/bin/bash",
        "          set -e",
        f"          {before}",
        "",
        f"          kubeadm {subcommand} --config {KUBEADM_FILE} {setup.verbosity}",
        f"          mkdir -p /run/cluster-api && echo success > {SUCCEEDED}",
        f"          mv {KUBEADM_FILE} /tmp/",
        f"          {after}",
    ]
    return "\n".join(lines)
