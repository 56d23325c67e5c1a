"""Reads Ignition configs of versions 2 and 3 into steps.

Folders, files, links and systemd units become steps, in this order. An enabled unit is started at
once, because the machine already runs when the steps are executed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.boot.contents import (
    MAX_STEPS,
    ContentDecoder,
    check_hash,
    flag_field,
    text_field,
    text_of,
)
from kapy.kube.boot.steps import BadBootData, BootPlan, RunCommand, Step, WriteFile
from kapy.kube.foreign_json import BadJson, decode_json

FORMAT: Final = "ignition"

UNITS: Final = "/etc/systemd/system"

_UNIT_NAME: Final = re.compile(r"[\w:.\\@-]+\.[a-z]+")
_DROP_IN_NAME: Final = re.compile(r"[^/\0]+\.conf")
_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.$-]*")
_APPLIED: Final = frozenset(
    {"storage.directories", "storage.files", "storage.links", "systemd.units"}
)
_UNSUPPORTED_FIELDS: Final = ("append", "replace", "merge")
_HIGHEST_MODE: Final = 0o7777
_NO_ID: Final = (1 << 32) - 1


def read_ignition(data: bytes) -> BootPlan:
    """Return the steps of an Ignition config. Raises BadBootData."""
    text = text_of(data, FORMAT)
    try:
        config = decode_json(text)
    except BadJson as error:
        raise BadBootData(f"{FORMAT}: the boot data is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise BadBootData(f"{FORMAT}: the boot data is not a JSON object")
    _check_header(_mapping(config, "ignition", ""))
    storage, systemd = _mapping(config, "storage", ""), _mapping(config, "systemd", "")
    steps: list[Step] = [
        *_folders(_entries(storage, "directories", "storage.directories")),
        *_files(_entries(storage, "files", "storage.files")),
        *_links(_entries(storage, "links", "storage.links")),
        *_units(_entries(systemd, "units", "systemd.units")),
    ]
    return BootPlan(tuple(steps), tuple(_ignored_sections(config)))


def _check_header(header: Document) -> None:
    version = header.get("version") or "2.0.0"
    if not isinstance(version, str) or version.partition(".")[0] not in ("2", "3"):
        raise BadBootData(f"{FORMAT}: version {version!r:.20} is not read; use version 2 or 3")
    parts = _mapping(header, "config", "ignition")
    for field in _UNSUPPORTED_FIELDS:
        if parts.get(field):
            raise BadBootData(
                f"ignition.config.{field}: configs from elsewhere are not read; give one config"
            )


def _ignored_sections(config: Document) -> Iterator[str]:
    for section, value in config.items():
        if section == "ignition" or not value:
            continue
        if not isinstance(value, dict):
            yield section
            continue
        for part, inner in value.items():
            if inner and f"{section}.{part}" not in _APPLIED:
                yield f"{section}.{part}"


def _folders(folders: list[Document]) -> Iterator[Step]:
    for index, folder in enumerate(folders):
        path, entry = _path(folder, f"storage.directories[{index}]")
        mode, owner = _mode(folder, 0o755, entry), _owner(folder, entry)
        script = 'mkdir -p -- "$1" && chown -- "$2" "$1" && chmod -- "$3" "$1"'
        argv = ("/bin/sh", "-c", script, "sh", path, owner, f"{mode:04o}")
        yield RunCommand(argv, entry, repeatable=True)


def _files(files: list[Document]) -> Iterator[Step]:
    contents = ContentDecoder()
    for index, file in enumerate(files):
        path, entry = _path(file, f"storage.files[{index}]")
        mode, owner = _mode(file, 0o644, entry), _owner(file, entry)
        append = file.get("append")
        additions = _entries(file, "append", entry) if not isinstance(append, bool) else []
        if file.get("contents") is not None or not additions:
            content = _content(_mapping(file, "contents", entry), contents, entry)
            yield WriteFile(path, content, entry, mode, owner, append=append is True)
        for number, addition in enumerate(additions):
            added = f"{entry}.append[{number}]"
            content = _content(addition, contents, added)
            yield WriteFile(path, content, added, mode, owner, append=True)


def _content(resource: Document, contents: ContentDecoder, entry: str) -> bytes:
    source = text_field(resource, "source", entry)
    compression = text_field(resource, "compression", entry)
    content = contents.of_source(source, compression, entry)
    if expected := text_field(_mapping(resource, "verification", entry), "hash", entry):
        check_hash(content, expected, entry)
    return content


def _links(links: list[Document]) -> Iterator[Step]:
    for index, link in enumerate(links):
        path, entry = _path(link, f"storage.links[{index}]")
        target = text_field(link, "target", entry)
        if not target or "\0" in target:
            raise BadBootData(f"{entry}: target must name a file")
        options = "-fn" if flag_field(link, "hard", entry) else "-sfn"
        script = f'mkdir -p -- "$1" && ln {options} -- "$2" "$3" && chown -h -- "$4" "$3"'
        folder, owner = posixpath.dirname(path), _owner(link, entry)
        argv = ("/bin/sh", "-c", script, "sh", folder, target, path, owner)
        yield RunCommand(argv, entry, repeatable=True)


def _units(units: list[Document]) -> Iterator[Step]:
    contents = ContentDecoder()
    started: list[RunCommand] = []
    for index, unit in enumerate(units):
        entry = f"systemd.units[{index}]"
        name = text_field(unit, "name", entry)
        if not _UNIT_NAME.fullmatch(name):
            raise BadBootData(f"{entry}: name {name!r:.80} is not the name of a systemd unit")
        entry = f"{entry} ({name})"
        yield from _unit_files(unit, name, contents, entry)
        if flag_field(unit, "enabled", entry) or flag_field(unit, "enable", entry):
            argv = ("systemctl", "enable", "--now", name)
            journal = ("journalctl", "--no-pager", "--lines=50", "--output=cat", f"--unit={name}")
            started.append(RunCommand(argv, entry, diagnosis=journal))
    if units:
        reload = ("systemctl", "daemon-reload")
        yield RunCommand(reload, "systemd.units", repeatable=True)
    yield from started


def _unit_files(unit: Document, name: str, contents: ContentDecoder, entry: str) -> Iterator[Step]:
    if flag_field(unit, "mask", entry):
        argv = ("ln", "-sfn", "--", "/dev/null", f"{UNITS}/{name}")
        yield RunCommand(argv, entry, repeatable=True)
    elif text := text_field(unit, "contents", entry):
        yield WriteFile(f"{UNITS}/{name}", contents.decode(text, "", entry), entry)
    # Version 2 has both spellings.
    for field in ("dropins", "dropin"):
        for index, drop_in in enumerate(_entries(unit, field, entry)):
            inner = f"{entry}.{field}[{index}]"
            file = text_field(drop_in, "name", inner)
            if not _DROP_IN_NAME.fullmatch(file):
                raise BadBootData(f"{inner}: name {file!r:.80} is not the name of a drop-in file")
            content = contents.decode(text_field(drop_in, "contents", inner), "", inner)
            yield WriteFile(f"{UNITS}/{name}.d/{file}", content, inner)


def _path(node: Document, entry: str) -> tuple[str, str]:
    """Return the path of a file, folder or link, and its entry for errors."""
    path = text_field(node, "path", entry)
    if not path.startswith("/") or "\0" in path or posixpath.normpath(path) in ("/", "//"):
        raise BadBootData(f"{entry}: path {path!r:.80} is not an absolute path")
    path = "/" + posixpath.normpath(path).lstrip("/")
    return path, f"{entry} ({path})"


def _mode(node: Document, default: int, entry: str) -> int:
    mode = node.get("mode")
    if mode is None:
        return default
    if not isinstance(mode, int) or isinstance(mode, bool) or not 0 <= mode <= _HIGHEST_MODE:
        raise BadBootData(f"{entry}: mode must be a number from 0 to {_HIGHEST_MODE}")
    return mode


def _owner(node: Document, entry: str) -> str:
    return ":".join(_account(_mapping(node, field, entry), entry) for field in ("user", "group"))


def _account(account: Document, entry: str) -> str:
    number, name = account.get("id"), text_field(account, "name", entry)
    if name:
        if not _NAME.fullmatch(name):
            raise BadBootData(f"{entry}: {name!r:.80} is not the name of a user or group")
        return name
    if number is None:
        return "root"
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < _NO_ID:
        raise BadBootData(f"{entry}: the ID of a user or group must be a number")
    return str(number)


def _mapping(parent: Document, field: str, entry: str) -> Document:
    value = parent.get(field)
    if value is None:
        return {}
    if not isinstance(value, dict):
        path = f"{entry}: " if entry else ""
        raise BadBootData(f"{path}{field} must be an object")
    return value


def _entries(parent: Document, field: str, entry: str) -> list[Document]:
    value: Any = parent.get(field)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadBootData(f"{entry}: {field} must be a list of objects")
    if len(value) > MAX_STEPS:
        raise BadBootData(f"{entry}: there are {len(value)} entries, more than {MAX_STEPS}")
    return value
