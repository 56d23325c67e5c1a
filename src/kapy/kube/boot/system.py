"""The users, disks, mounts and NTP servers of a cloud-config as steps.

These are for machines with an installed system; they do not apply to containers. The meaning is
cloud-init's, except where that would lose data: a disk or partition with other contents is not
changed unless `overwrite` is set, and one in use is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.boot import system_scripts
from kapy.kube.boot.contents import flag_field, text_field
from kapy.kube.boot.steps import BadBootData, RunCommand

DISKS: Final = ("disk_setup", "fs_setup", "mounts")
SECTIONS: Final = frozenset({*DISKS, "users", "ntp"})
_MOST: Final = 256
"""Entries of a section."""
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}")
_DEVICE: Final = re.compile(r"/dev/[A-Za-z0-9/_.:@+=-]{1,200}")
_SHORT_DEVICE: Final = re.compile(r"(x?[svh]d[a-z]|nvme\d+n\d+)[p\d]{0,6}")
_WORD: Final = re.compile(r"[A-Za-z0-9_.:-]{1,253}")
_TYPE: Final = re.compile(r"[a-z0-9]{1,16}")
_USER_OPTIONS: Final = {
    "expiredate": "--expiredate",
    "gecos": "--comment",
    "homedir": "--home-dir",
    "inactive": "--inactive",
    "primary_group": "--gid",
    "shell": "--shell",
    "uid": "--uid",
}
_TABLES: Final = {"mbr": "dos", "gpt": "gpt"}
_GPT_TYPES: Final = {
    "83": "0fc63daf-8483-4772-8e79-3d69d8477de4",
    "82": "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
    "fd": "a19d880f-05fc-4d3b-a006-743f0f84911e",
    "8e": "e6d6d379-f507-44c2-a23c-238f2a3df928",
    "0c": "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7",
    "07": "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7",
}
_PAIR: Final = 2
_WHOLE: Final = 100
_MOUNT_DEFAULTS: Final = ("auto", "defaults,nofail", "0", "2")


def disk_steps(config: Document) -> Iterator[RunCommand]:
    """Yield the steps of `disk_setup`, `fs_setup` and `mounts`. Raises BadBootData."""
    disks = config.get("disk_setup") or {}
    if not isinstance(disks, dict):
        raise BadBootData("disk_setup: the value must be a mapping")
    for device, definition in list(disks.items())[:_MOST]:
        yield from _disk(device, definition)
    for index, definition in enumerate(_entries(config, "fs_setup")):
        yield _file_system(definition, f"fs_setup[{index}]")
    mounts = _entries(config, "mounts")
    words = [word for index, item in enumerate(mounts) for word in _mount(item, f"mounts[{index}]")]
    if words:
        yield _step(system_scripts.MOUNTS, words, "mounts")


def user_steps(config: Document) -> Iterator[RunCommand]:
    """Yield the steps of `users`. Raises BadBootData."""
    for index, user in enumerate(_entries(config, "users")):
        if user == "default":  # the existing default user of the system
            continue
        yield _user(user, f"users[{index}]")


def ntp_steps(config: Document) -> Iterator[RunCommand]:
    """Yield the step of `ntp`. Raises BadBootData."""
    ntp = config.get("ntp")
    if "ntp" not in config or ntp is False:
        return
    if not isinstance(ntp, dict | None):
        raise BadBootData("ntp: the value must be a mapping")
    ntp = ntp or {}
    if ntp.get("enabled") is not None and not flag_field(ntp, "enabled", "ntp"):
        return
    lines = [
        f"{kind.removesuffix('s')} {_match(_WORD, name, f'ntp: each of {kind}')}"
        for kind in ("servers", "pools")
        for name in _entries(ntp, kind, "ntp.")
    ]
    yield _step(system_scripts.NTP, lines, "ntp")


def _step(script: str, words: Sequence[str], entry: str, stdin: bytes = b"") -> RunCommand:
    if any("\0" in word for word in words) or b"\0" in stdin:
        raise BadBootData(f"{entry}: a value cannot contain a NUL character")
    return RunCommand(("/bin/sh", "-c", script, "sh", *words), entry, stdin, repeatable=True)


def _entries(parent: Document, section: str, prefix: str = "") -> list[Any]:
    value = parent.get(section)
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > _MOST:
        raise BadBootData(f"{prefix}{section}: the value must be a list of at most {_MOST} entries")
    return value


def _match(pattern: re.Pattern[str], value: Any, what: str) -> str:
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise BadBootData(f"{what} cannot be {str(value)[:80]!r}")
    return value


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"


def _mapping(value: Any, entry: str) -> Document:
    if not isinstance(value, dict):
        raise BadBootData(f"{entry}: the entry must be a mapping")
    return value


def _lines(value: Any, entry: str) -> list[str]:
    """Return a text or a list of texts, each of which is one line."""
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(item, str) for item in values):
        raise BadBootData(f"{entry} must be a string or a list of strings")
    lines = [item.strip() for item in values[:_MOST]]
    if any("\n" in line for line in lines):
        raise BadBootData(f"{entry} must not contain a line break")
    return [line for line in lines if line]


def _user(value: Any, entry: str) -> RunCommand:
    user = _mapping(value if not isinstance(value, str) else {"name": value}, entry)
    name = _match(_NAME, user.get("name"), f"{entry}: name")
    entry = f"{entry} ({name})"
    groups = _groups(user, entry)
    options = [
        part
        for field, option in _USER_OPTIONS.items()
        if (text := _option(user, field, entry))
        for part in (option, text)
    ]
    if groups:
        options += ["--groups", ",".join(groups)]
    password, hashed = "new", text_field(user, "passwd", entry)
    for field, kind in (("hashed_passwd", "hashed"), ("plain_text_passwd", "plain")):
        if text := text_field(user, field, entry):
            password, hashed = kind, text
    lock = user.get("lock_passwd") is None or flag_field(user, "lock_passwd", entry)
    sudo = _lines(user.get("sudo") or [], f"{entry}: sudo")
    keys = _lines(user.get("ssh_authorized_keys") or [], f"{entry}: ssh_authorized_keys")
    if "\n" in hashed:
        raise BadBootData(f"{entry}: a password must not contain a line break")
    stdin = "".join(f"{line}\n" for line in (hashed, *keys))
    arguments = [name, password, _flag(lock), "\n".join(sudo), " ".join(groups), *options]
    return _step(system_scripts.USER, arguments, entry, stdin.encode())


def _groups(user: Document, entry: str) -> list[str]:
    """Return the groups of a user, which are created if they do not exist."""
    value = user.get("groups") or []
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list):
        raise BadBootData(f"{entry}: groups must be a list")
    groups = [_match(_NAME, str(name).strip(), f"{entry}: a group") for name in names[:_MOST]]
    if primary := user.get("primary_group"):
        groups.append(_match(_NAME, primary, f"{entry}: primary_group"))
    return groups


def _option(user: Document, field: str, entry: str) -> str:
    value = user.get(field)
    if value is None or isinstance(value, bool):  # cloud-init accepts texts only
        return ""
    if isinstance(value, int):
        return str(value)
    text = text_field(user, field, entry)
    if "\n" in text or ":" in text:
        raise BadBootData(f"{entry}: {field} must not contain a colon or a line break")
    return text


def _device(value: Any, entry: str) -> str:
    if isinstance(value, str) and _SHORT_DEVICE.fullmatch(value):
        return f"/dev/{value}"
    return _match(_DEVICE, value, f"{entry}: a device is a path below /dev, and")


def _disk(value: Any, definition: Any) -> Iterator[RunCommand]:
    device = _device(value, "disk_setup")
    entry = f"disk_setup ({device})"
    fields = _mapping(definition, entry)
    layout = fields.get("layout", False)
    if layout is False or layout is None:
        return
    table = text_field(fields, "table_type", entry) or "mbr"
    if table not in _TABLES:
        raise BadBootData(f"{entry}: table_type must be mbr or gpt")
    parts = ["100:"] if layout is True else _parts(layout, table, entry)
    overwrite = _flag(flag_field(fields, "overwrite", entry))
    yield _step(system_scripts.DISK, [device, _TABLES[table], overwrite, *parts], entry)


def _parts(layout: Any, table: str, entry: str) -> list[str]:
    if not isinstance(layout, list) or not 0 < len(layout) <= (4 if table == "mbr" else 128):
        raise BadBootData(f"{entry}: layout must be true, false or a list of partitions")
    parts = []
    for part in layout:
        percentage, kind = part if isinstance(part, list) and len(part) == _PAIR else (part, "")
        if type(percentage) is not int or not 0 < percentage <= _WHOLE:
            raise BadBootData(f"{entry}: a partition has a percentage from 1 to 100")
        text = f"{kind:02d}" if isinstance(kind, int) else str(kind).lower()
        if text and not re.fullmatch(r"[0-9a-f]{2}|[0-9a-f-]{36}", text):
            raise BadBootData(f"{entry}: type {text[:40]!r} of a partition is not known")
        if text and table == "gpt":
            text = _GPT_TYPES.get(text, text)
            if len(text) == _PAIR:
                raise BadBootData(f"{entry}: type {text!r} has no equivalent in a GPT")
        parts.append(f"{percentage}:{text}")
    return parts


def _file_system(value: Any, entry: str) -> RunCommand:
    fields = _mapping(value, entry)
    device = _device(fields.get("device"), entry)
    if fields.get("cmd"):
        raise BadBootData(f"{entry}: cmd is not known; set filesystem")
    kind = _match(_TYPE, fields.get("filesystem"), f"{entry}: filesystem")
    partition = str(fields.get("partition") or "any").lower()
    _match(re.compile(r"any|auto|none|\d{1,3}"), partition, f"{entry}: partition")
    label = text_field(fields, "label", entry)
    replaced = text_field(fields, "replace_fs", entry)
    overwrite = _flag(flag_field(fields, "overwrite", entry))
    options = _lines(fields.get("extra_opts") or [], f"{entry}: extra_opts")
    words = [device, partition, kind, label, overwrite, replaced, *options]
    return _step(system_scripts.FILE_SYSTEM, words, f"{entry} ({device})")


def _mount(value: Any, entry: str) -> list[str]:
    fields = [value] if isinstance(value, str) else value
    if not isinstance(fields, list) or not 0 < len(fields) <= len(_MOUNT_DEFAULTS) + 2:
        raise BadBootData(f"{entry}: the entry must be a list of at most 6 fields")
    if len(fields) == 1 or fields[1] is None:  # cloud-init removes the mount
        return []
    words = ["" if field is None else str(field) for field in fields]
    words += [""] * (len(_MOUNT_DEFAULTS) + 2 - len(words))
    words[2:] = [word or default for word, default in zip(words[2:], _MOUNT_DEFAULTS, strict=True)]
    if re.fullmatch(r"ephemeral\d*(\..*)?", words[0]):
        raise BadBootData(f"{entry}: {words[0]} is a disk of a cloud; name the device")
    if _SHORT_DEVICE.fullmatch(words[0]):
        words[0] = f"/dev/{words[0]}"
    if any("\n" in word for word in words) or any(set(word) & set(" \t") for word in words[2:]):
        raise BadBootData(f"{entry}: the fields must not contain white space")
    if not words[1].startswith("/") and words[2] != "swap":
        raise BadBootData(f"{entry}: the mount point must be an absolute path")
    return words
