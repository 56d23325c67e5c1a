"""Units, users, Ignition's own settings and Container Linux's services, in Ignition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from kapy.kube import Document, duration
from kapy.kube.go_literals import go_quoted
from kapy.providers.kubeadm.bootstrap.ignition import checks
from kapy.providers.kubeadm.bootstrap.ignition.checks import Report, nonempty_fields
from kapy.providers.kubeadm.bootstrap.ignition.schema import LOCKSMITH_FIELDS, UPDATE_FIELDS
from kapy.providers.kubeadm.bootstrap.ignition.storage import data_url, verification

_GROUPS: Final = ("stable", "beta", "alpha")
_STRATEGIES: Final = ("reboot", "etcd-lock", "off")
_TIME: Final = r"(?:[01]?[0-9]|2[0-3]):[0-5][0-9]"
_WINDOW: Final = re.compile(
    rf"(?:\s*(?:sun|mon|tue|wed|thu|fri|sat)\s+{_TIME}(?:\s.*)?|{_TIME})", re.IGNORECASE
)
_CREATE_CONFLICTS: Final = (
    *("gecos", "groups", "home_dir", "no_create_home", "no_log_init", "no_user_group"),
    *("primary_group", "shell", "system"),
)


def ignition(ignition_config: Document, report: Report) -> Document:
    """Convert the section `ignition` of a Container Linux Config to Ignition."""
    config = ignition_config.get("config") or {}
    appended = [
        _reference(item, f"ignition.config.append[{index}]", report)
        for index, item in enumerate(config.get("append") or ())
    ]
    replacing = config.get("replace")
    replaced = (
        _reference(replacing, "ignition.config.replace", report) if replacing is not None else None
    )
    tls = (ignition_config.get("security") or {}).get("tls") or {}
    authorities = [
        _reference(authority, f"ignition.security.tls.certificate_authorities[{index}]", report)
        for index, authority in enumerate(tls.get("certificate_authorities") or ())
    ]
    timeouts = ignition_config.get("timeouts") or {}
    seconds = {
        "httpResponseHeaders": timeouts.get("http_response_headers"),
        "httpTotal": timeouts.get("http_total"),
    }
    return {
        "config": nonempty_fields({"append": appended, "replace": replaced}),
        "security": {"tls": nonempty_fields({"certificateAuthorities": authorities})},
        "timeouts": {name: value for name, value in seconds.items() if value is not None},
        "version": "2.3.0",
    }


def _reference(reference: Document, path: str, report: Report) -> Document:
    source = reference.get("source", "")
    report.check(f"{path}.source", checks.url(source))
    return {"source": source, "verification": verification(reference, path, report)}


def systemd(config: Document, report: Report) -> Document:
    """Return the section `systemd`, with the drop-in of Docker."""
    units = list(_docker(config.get("docker")))
    for index, unit in enumerate((config.get("systemd") or {}).get("units") or ()):
        path = f"systemd.units[{index}]"
        name, contents = unit.get("name", ""), unit.get("contents", "")
        report.check(f"{path}.name", checks.extension(name, checks.UNIT_TYPES))
        report.check(f"{path}.contents", checks.unit(contents))
        enabled = unit.get("enabled")
        if (unit.get("enable") or enabled) and checks.cannot_be_enabled(contents):
            report.warn(path, f"{name[:80]} is enabled, but has no section Install")
        enabling = {} if enabled is None else {"enabled": enabled}
        units.append(
            {
                **nonempty_fields({"contents": contents, "dropins": _drop_ins(unit, path, report)}),
                **nonempty_fields({"enable": unit.get("enable")}),
                **enabling,
                **nonempty_fields({"mask": unit.get("mask")}),
                "name": name,
            }
        )
    return nonempty_fields({"units": units})


def _docker(docker: Document | None) -> Iterator[Document]:
    if docker is not None:
        flags = " ".join(docker.get("flags") or ())
        contents = f'[Service]\nEnvironment="DOCKER_OPTS={flags}"'
        drop_in = {"contents": contents, "name": "20-clct-docker.conf"}
        yield {"dropins": [drop_in], "enable": True, "name": "docker.service"}


def networkd(networkd_config: Document, report: Report) -> Document:
    """Convert the section `networkd` of a Container Linux Config to Ignition."""
    units = []
    for index, unit in enumerate(networkd_config.get("units") or ()):
        path = f"networkd.units[{index}]"
        name, contents = unit.get("name", ""), unit.get("contents", "")
        report.check(f"{path}.name", checks.extension(name, checks.NETWORK_TYPES))
        report.check(f"{path}.contents", checks.unit(contents))
        drop_ins = _drop_ins(unit, path, report)
        units.append({**nonempty_fields({"contents": contents, "dropins": drop_ins}), "name": name})
    return nonempty_fields({"units": units})


def _drop_ins(unit: Document, path: str, report: Report) -> list[Document]:
    converted = []
    for index, drop_in in enumerate(unit.get("dropins") or ()):
        inner = f"{path}.dropins[{index}]"
        name, contents = drop_in.get("name", ""), drop_in.get("contents", "")
        report.check(f"{inner}.name", checks.extension(name, checks.DROP_IN_TYPES))
        report.check(f"{inner}.contents", checks.unit(contents))
        converted.append({**nonempty_fields({"contents": contents}), "name": name})
    return converted


def passwd(passwd_config: Document, report: Report) -> Document:
    """Convert the section `passwd` of a Container Linux Config to Ignition."""
    users = [
        _user(user, f"passwd.users[{index}]", report)
        for index, user in enumerate(passwd_config.get("users") or ())
    ]
    return nonempty_fields(
        {"groups": list(map(_group, passwd_config.get("groups") or ())), "users": users}
    )


def _user(user: Document, path: str, report: Report) -> Document:
    create = user.get("create")
    if create is not None:
        report.warn(f"{path}.create", "is deprecated: use the fields of the user")
        conflicts = [field for field in _CREATE_CONFLICTS if user.get(field)]
        conflicts += ["uid"] if user.get("uid") is not None else []
        for field in conflicts:
            report.fail(f"{path}.{field}", "cannot be used together with create")
    password, uid = user.get("password_hash"), user.get("uid")
    account = _account(user)
    return {
        **({} if create is None else {"create": _account(create, with_uid=True)}),
        **{name: account[name] for name in ("gecos", "groups", "homeDir") if name in account},
        "name": user.get("name", ""),
        **{name: account[name] for name in account if name.startswith("no")},
        **({} if password is None else {"passwordHash": password}),
        **nonempty_fields({"primaryGroup": user.get("primary_group")}),
        **nonempty_fields({"sshAuthorizedKeys": user.get("ssh_authorized_keys")}),
        **nonempty_fields({"shell": user.get("shell"), "system": user.get("system")}),
        **({} if uid is None else {"uid": uid}),
    }


def _account(account: Document, *, with_uid: bool = False) -> Document:
    uid = account.get("uid") if with_uid else None
    fields = {
        "gecos": account.get("gecos"),
        "groups": account.get("groups"),
        "homeDir": account.get("home_dir"),
        "noCreateHome": account.get("no_create_home"),
        "noLogInit": account.get("no_log_init"),
        "noUserGroup": account.get("no_user_group"),
        "primaryGroup": account.get("primary_group"),
        "shell": account.get("shell"),
        "system": account.get("system"),
    }
    return {**nonempty_fields(fields), **({} if uid is None else {"uid": uid})}


def _group(group: Document) -> Document:
    gid = group.get("gid")
    return {
        **({} if gid is None else {"gid": gid}),
        "name": group.get("name", ""),
        **nonempty_fields(
            {"passwordHash": group.get("password_hash"), "system": group.get("system")}
        ),
    }


def update_file(config: Document, report: Report) -> list[Document]:
    """Return the file of the sections `update` and `locksmith`."""
    update, locksmith = config.get("update"), config.get("locksmith")
    contents = _update(update, report) if update is not None else ""
    if locksmith is not None:
        _check_locksmith(locksmith, report)
        lines = [
            f"{name}={go_quoted(locksmith[field])}"
            for field, name in LOCKSMITH_FIELDS.items()
            if locksmith.get(field) is not None
        ]
        contents += "\n" + "\n".join(lines) if lines else ""
    if not contents:
        return []
    return [
        {
            "filesystem": "root",
            "path": "/etc/coreos/update.conf",
            "contents": {"source": data_url(contents), "verification": {}},
            "mode": 0o644,
        }
    ]


def _update(update: Document, report: Report) -> str:
    group, server = update.get("group", ""), update.get("server", "")
    if group.lower() not in _GROUPS and not server:
        report.warn("update.group", f"{group[:40]!r} is not one of {', '.join(_GROUPS)}")
    if not checks.is_url(server):
        report.fail("update.server", "is no URL")
    lines = [f"GROUP={group.lower()}" if group else ""]
    for field, name in UPDATE_FIELDS.items():
        if field != "group" and update.get(field):
            lines.append(f"{name}={update[field]}")
    return "\n".join(lines)


def _check_locksmith(locksmith: Document, report: Report) -> None:
    start, length = locksmith.get("window_start"), locksmith.get("window_length")
    if bool(start) != bool(length):
        report.fail("locksmith", "window_start and window_length must be given together")
    strategy = locksmith.get("reboot_strategy")
    if strategy and strategy.lower() not in _STRATEGIES:
        report.fail("locksmith.reboot_strategy", f"must be one of {', '.join(_STRATEGIES)}")
    if start and not _WINDOW.fullmatch(start):
        report.fail("locksmith.window_start", f"{start[:40]!r} is no time such as 'Sun 1:00'")
    if length:
        try:
            duration.parse(length)
        except ValueError:
            problem = f"{length[:40]!r} is no duration such as 1h30m"
            report.fail("locksmith.window_length", problem)
