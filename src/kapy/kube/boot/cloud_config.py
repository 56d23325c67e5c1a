"""Reads cloud-init's cloud-config into steps.

`bootcmd`, `write_files` and `runcmd` are applied in cloud-init's order, whatever the order in the
document; `users`, `ntp`, disks and mounts only on request. As with upstream's docker provider each
command of `runcmd` is a process of its own, and the first that fails ends the boot; cloud-init runs
all of them as one script and goes on.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.boot.contents import MAX_STEPS, ContentDecoder, flag_field, text_field, text_of
from kapy.kube.boot.steps import BadBootData, BootPlan, RunCommand, Step, WriteFile, shell
from kapy.kube.boot.system import SECTIONS, disk_steps, ntp_steps, user_steps
from kapy.kube.yaml import YamlError, load

FORMAT: Final = "cloud-config"

_APPLIED: Final = frozenset({"bootcmd", "write_files", "runcmd"})
_JINJA: Final = re.compile(r"\A##\s*template:\s*jinja", re.IGNORECASE)
_VARIABLE: Final = re.compile(
    r"(\{\{-?)[ \t]*"
    r"""((?:ds\.meta_data|v1)(?:\.\w+|\[['"]\w+['"]\])|\w+)"""
    r"[ \t]*(-?\}\})"
)
_SPACE: Final = re.compile(r"\s*")
_WORDS: Final = re.compile(r"\w+")
_OWNER: Final = re.compile(r"[^\s:-][^\s:]*(?::[^\s:]*)?")
_HIGHEST_MODE: Final = 0o7777
_MAX_NUMBER: Final = 1 << 64
_MAX_WORDS: Final = 100_000


def read_cloud_config(
    data: bytes, instance: Mapping[str, str] | None = None, *, system: bool = False
) -> BootPlan:
    """Return the steps of a cloud-config.

    system: whether users, NTP servers, disks and mounts become steps, too.

    instance: metadata such as `local_hostname`, for the variables of boot data that declares itself
    a Jinja template. Only plain variables with a value here are replaced; nothing else of Jinja is
    executed. Raises BadBootData.
    """
    text = text_of(data, FORMAT)
    if text.startswith("#!"):
        raise BadBootData(f"{FORMAT}: the boot data is a script, not a cloud-config")
    if instance and _JINJA.match(text):
        text = _substitute_variables(text, instance)
    config = _document(text)
    contents = ContentDecoder()
    written = list(_files(_entries(config, "write_files"), contents))
    steps: list[Step] = [
        *_commands(_entries(config, "bootcmd"), "bootcmd"),
        *(step for step, deferred in written if not deferred),
        *(_system(config) if system else ()),
        *(step for step, deferred in written if deferred),
        *_commands(_entries(config, "runcmd"), "runcmd"),
    ]
    applied = _APPLIED | SECTIONS if system else _APPLIED
    ignored = tuple(key for key, value in config.items() if key not in applied and value)
    return BootPlan(tuple(steps), ignored)


def _system(config: Document) -> Iterator[Step]:
    yield from disk_steps(config)
    yield from user_steps(config)
    yield from ntp_steps(config)


def _substitute_variables(text: str, instance: Mapping[str, str]) -> str:
    parts: list[str] = []
    end = 0
    for match in _VARIABLE.finditer(text):
        value = _value(match[2], instance)
        if value is None:
            continue
        before = text[end : match.start()]
        parts += [before.rstrip() if match[1] == "{{-" else before, value]
        end = match.end()
        if match[3] == "-}}" and (space := _SPACE.match(text, end)):
            end = space.end()
    return "".join((*parts, text[end:]))


def _value(variable: str, instance: Mapping[str, str]) -> str | None:
    *parents, name = _WORDS.findall(variable)
    if not parents and name not in ("local_hostname", "instance_id"):
        return None
    return instance.get(name)


def _document(text: str) -> Document:
    try:
        value = load(text, FORMAT, binary=True)
    except YamlError as error:
        jinja = _JINJA.match(text) and "{%" in text
        hint = " (statements of Jinja, {% … %}, are not executed)" if jinja else ""
        raise BadBootData(f"{error}{hint}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadBootData(f"{FORMAT}: the boot data is not a YAML mapping")
    return value


def _entries(config: Document, section: str) -> list[Any]:
    value = config.get(section)
    if value is None:
        return []
    if not isinstance(value, list):
        raise BadBootData(f"{section}: the value must be a list")
    if len(value) > MAX_STEPS:
        raise BadBootData(f"{section}: there are {len(value)} entries, more than {MAX_STEPS}")
    return value


def _commands(entries: list[Any], section: str) -> Iterator[RunCommand]:
    words = 0
    for index, command in enumerate(entries):
        entry = f"{section}[{index}]"
        if isinstance(command, str):
            yield shell(_check_text(command, entry), entry)
        elif isinstance(command, list):
            words += len(command)
            if words > _MAX_WORDS:  # aliases can expand a short text so far
                raise BadBootData(f"{entry}: the commands have more than {_MAX_WORDS} words")
            argv = tuple(_check_text(_word(item, entry), entry) for item in command)
            if argv:
                yield RunCommand(argv, entry)
        elif command is not None or section == "runcmd":
            raise BadBootData(f"{entry}: a command must be a string or a list of strings")


def _word(value: Any, entry: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > _MAX_NUMBER:
        raise BadBootData(f"{entry}: each word of a command must be a string or a whole number")
    return str(value)


def _check_text(text: str, entry: str) -> str:
    if "\0" in text:
        raise BadBootData(f"{entry}: a command cannot contain a NUL character")
    return text


def _files(entries: list[Any], contents: ContentDecoder) -> Iterator[tuple[WriteFile, bool]]:
    """Yield each file, and whether it is written after all others."""
    for index, file in enumerate(entries):
        entry = f"write_files[{index}]"
        if not isinstance(file, dict):
            raise BadBootData(f"{entry}: the entry must be a mapping")
        path = _path(text_field(file, "path", entry), entry)
        entry = f"{entry} ({path})"
        if file.get("source"):
            raise BadBootData(f"{entry}: source would have to be fetched; give content")
        content = file.get("content")
        if not isinstance(content, bytes):
            content = text_field(file, "content", entry)
        written = WriteFile(
            path,
            contents.decode(content, text_field(file, "encoding", entry), entry),
            entry,
            mode=_mode(file.get("permissions"), entry),
            owner=_owner(text_field(file, "owner", entry), entry),
            append=flag_field(file, "append", entry),
        )
        yield written, flag_field(file, "defer", entry)


def _path(text: str, entry: str) -> str:
    path = "/" + posixpath.normpath(text.strip()).lstrip("/") if text.strip() else "/"
    if path in ("/", "/.") or "\0" in path:
        raise BadBootData(f"{entry}: path must name a file")
    return path


def _mode(value: Any, entry: str) -> int:
    """Return the permission bits: an octal number in a string, or a number that YAML read
    as octal.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return 0o644
    mode = -1
    if isinstance(value, int) and not isinstance(value, bool):
        mode = value
    elif isinstance(value, str):
        try:
            mode = int(value.strip(), 8)
        except ValueError:
            mode = -1
    if not 0 <= mode <= _HIGHEST_MODE:
        raise BadBootData(f"{entry}: permissions must be an octal number such as '0640'")
    return mode


def _owner(text: str, entry: str) -> str:
    owner = text.strip() or "root:root"
    if not _OWNER.fullmatch(owner) or "\0" in owner:
        raise BadBootData(f"{entry}: owner must be USER or USER:GROUP")
    return owner.removesuffix(":")  # chown takes `user:` as the user with its login group
