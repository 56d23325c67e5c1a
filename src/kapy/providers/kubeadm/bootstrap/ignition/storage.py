"""Disks, file systems, files, folders and links: from a Container Linux Config to Ignition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import quote

from kapy.kube import Document
from kapy.providers.kubeadm.bootstrap.ignition import checks
from kapy.providers.kubeadm.bootstrap.ignition.checks import Report, nonempty_fields

_TYPES: Final = {
    "raid_containing_root": "be9067b9-ea49-4f15-b4f6-f36f8c9e1818",
    "linux_filesystem_data": "0fc63daf-8483-4772-8e79-3d69d8477de4",
    "swap_partition": "0657fd6d-a4ab-43c4-84e5-0933c84b4f4f",
    "raid_partition": "a19d880f-05fc-4d3b-a006-743f0f84911e",
}
_STRIPED: Final = frozenset({"linear", "raid0", "0", "stripe"})
_LEVELS: Final = _STRIPED | {
    *("raid1", "1", "mirror", "raid4", "4", "raid5", "5", "raid6", "6", "raid10", "10"),
}
_LONGEST_LABEL: Final = 36
_FILE_MODE: Final = 0o644
_FOLDER_MODE: Final = 0o755


def storage(storage_config: Document, report: Report) -> Document:
    """Convert the section `storage` of a Container Linux Config to Ignition."""
    converters: dict[str, tuple[str, Callable[[Document, str, Report], Document]]] = {
        "directories": ("directories", _folder),
        "disks": ("disks", _disk),
        "files": ("files", _file),
        "filesystems": ("filesystems", _filesystem),
        "links": ("links", _link),
        "raid": ("raid", _array),
    }
    converted: Document = {}
    for name, (section, convert) in converters.items():
        entries = storage_config.get(section) or ()
        converted[name] = [
            convert(entry, f"storage.{section}[{index}]", report)
            for index, entry in enumerate(entries)
        ]
    _check_filesystems(converted, report)
    return nonempty_fields(converted)


def data_url(content: str | bytes) -> str:
    """Content in a data URL, as RFC 2396 escapes it."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    return "data:," + quote(data, safe="-_.!~*'()")


def _check_filesystems(converted: Document, report: Report) -> None:
    names = {"root"}
    for index, filesystem in enumerate(converted["filesystems"]):
        name = filesystem.get("name", "")
        if name in names:
            path = f"storage.filesystems[{index}]"
            report.warn(path, f"the file system {name[:80]!r} was defined before")
        names.add(name)
    for section in ("files", "links", "directories"):
        for index, node in enumerate(converted[section]):
            name = node["filesystem"]
            if name not in names:
                path = f"storage.{section}[{index}].filesystem"
                report.warn(path, f"the file system {name[:80]!r} is not defined here")


def _disk(disk: Document, path: str, report: Report) -> Document:
    device = disk.get("device", "")
    report.check(f"{path}.device", checks.absolute_path(device))
    items = enumerate(disk.get("partitions") or ())
    partitions = [_partition(item, f"{path}.partitions[{index}]", report) for index, item in items]
    numbers = [partition["number"] for partition in partitions if partition.get("number")]
    if len(set(numbers)) < len(numbers):
        report.fail(f"{path}.partitions", "two partitions have the same number")
    return {
        "device": device,
        **nonempty_fields({"partitions": partitions, "wipeTable": disk.get("wipe_table")}),
    }


def _partition(partition: Document, path: str, report: Report) -> Document:
    named: str = partition.get("type_guid", "")
    type_guid = _TYPES.get(named, named)
    report.check(f"{path}.type_guid", checks.guid(type_guid))
    report.check(f"{path}.guid", checks.guid(partition.get("guid", "")))
    label = partition.get("label")
    if label is not None and len(label.encode()) > _LONGEST_LABEL:
        report.fail(f"{path}.label", f"is longer than {_LONGEST_LABEL} bytes")
    if label is not None and ":" in label:
        report.warn(f"{path}.label", "is cut off at the colon")
    return {
        **nonempty_fields({"guid": partition.get("guid")}),
        **_present({"label": label}),
        **nonempty_fields({"number": partition.get("number")}),
        **_present(
            {
                "sizeMiB": _size(partition, "size", path, report),
                "startMiB": _size(partition, "start", path, report),
            }
        ),
        **nonempty_fields({"typeGuid": type_guid}),
    }


def _size(partition: Document, field: str, path: str, report: Report) -> int | None:
    try:
        return checks.mebibytes(partition.get(field, ""))
    except ValueError as error:
        report.fail(f"{path}.{field}", str(error))
        return None


def _array(array: Document, path: str, report: Report) -> Document:
    level, devices = array.get("level", ""), array.get("devices")
    if level not in _LEVELS:
        report.fail(f"{path}.level", f"{level[:40]!r} is not known")
    elif level in _STRIPED and array.get("spares"):
        report.fail(f"{path}.spares", f"an array of level {level} has no spares")
    for index, device in enumerate(devices or ()):
        report.check(f"{path}.devices[{index}]", checks.absolute_path(device))
    return {
        "devices": devices or None,
        "level": level,
        "name": array.get("name", ""),
        **nonempty_fields({"options": array.get("options"), "spares": array.get("spares")}),
    }


def _filesystem(filesystem: Document, path: str, report: Report) -> Document:
    mount, place = filesystem.get("mount"), filesystem.get("path")
    if mount is None and place is None:
        report.fail(path, "has neither mount nor path")
    if mount is not None and place is not None:
        report.fail(path, "has both mount and path")
    if place is not None:
        report.check(f"{path}.path", checks.absolute_path(place))
    converted = _mount(mount, f"{path}.mount", report) if mount is not None else None
    return {
        **_present({"mount": converted}),
        **nonempty_fields({"name": filesystem.get("name")}),
        **_present({"path": place}),
    }


def _mount(mount: Document, path: str, report: Report) -> Document:
    kind, label, create = mount.get("format", ""), mount.get("label"), mount.get("create")
    report.check(f"{path}.device", checks.absolute_path(mount.get("device", "")))
    if kind not in checks.FORMATS:
        report.fail(f"{path}.format", f"{kind[:40]!r} is not one of {', '.join(checks.FORMATS)}")
    elif label is not None and len(label.encode()) > checks.FORMATS[kind]:
        report.fail(f"{path}.label", f"is longer than {checks.FORMATS[kind]} bytes")
    if create is not None:
        report.warn(f"{path}.create", "is deprecated: use the fields of mount")
        for field in ("wipe_filesystem", "options"):
            if mount.get(field):
                report.fail(f"{path}.{field}", "cannot be used together with create")
        create = nonempty_fields({"force": create.get("force"), "options": create.get("options")})
    return {
        **_present({"create": create}),
        "device": mount.get("device", ""),
        "format": kind,
        **_present({"label": label}),
        **nonempty_fields({"options": mount.get("options")}),
        **_present({"uuid": mount.get("uuid")}),
        **nonempty_fields({"wipeFilesystem": mount.get("wipe_filesystem")}),
    }


def _file(file: Document, path: str, report: Report) -> Document:
    if file.get("mode") is None and not file.get("append"):
        report.warn(f"{path}.mode", f"is not given, {_FILE_MODE:04o} is taken")
    elif file.get("mode") is None:
        report.warn(f"{path}.mode", f"is not given, a new file gets {_FILE_MODE:04o}")
    if file.get("append") and file.get("overwrite"):
        report.fail(path, "has both append and overwrite")
    contents = _contents(file.get("contents") or {}, f"{path}.contents", report)
    return {
        **_node(file, path, report),
        **nonempty_fields({"append": file.get("append")}),
        "contents": contents,
        "mode": _mode(file, _FILE_MODE, path, report),
    }


def _contents(contents: Document, path: str, report: Report) -> Document:
    remote = contents.get("remote") or {}
    inline, local, address = contents.get("inline"), contents.get("local"), remote.get("url")
    if sum(map(bool, (inline, local, address))) > 1:
        report.fail(path, "has more than one of inline, local and remote.url")
    if local:
        report.fail(f"{path}.local", "a local file cannot be read here: use inline")
    source = data_url(inline or b"")
    if address:
        report.check(f"{path}.remote.url", checks.url(address))
        source = checks.escape_url(address)
    if remote.get("compression") not in (None, "", "gzip"):
        report.fail(f"{path}.remote.compression", "must be gzip")
    return {
        **nonempty_fields({"compression": remote.get("compression")}),
        "source": source,
        "verification": verification(remote, f"{path}.remote", report),
    }


def verification(reference: Document, path: str, report: Report) -> Document:
    """Return the `verification` of a source."""
    checksum = (reference.get("verification") or {}).get("hash") or {}
    if not (checksum.get("function") and checksum.get("sum")):
        return {}
    value = f"{checksum['function']}-{checksum['sum']}"
    report.check(f"{path}.verification.hash", checks.hash_sum(value))
    return {"hash": value}


def _folder(folder: Document, path: str, report: Report) -> Document:
    if folder.get("mode") is None:
        report.warn(f"{path}.mode", f"is not given, {_FOLDER_MODE:04o} is taken")
    return {
        **_node(folder, path, report),
        "mode": _mode(folder, _FOLDER_MODE, path, report),
    }


def _link(link: Document, path: str, report: Report) -> Document:
    return {
        **_node(link, path, report),
        **nonempty_fields({"hard": link.get("hard")}),
        "target": link.get("target", ""),
    }


def _mode(node: Document, default: int, path: str, report: Report) -> int:
    value: int | None = node.get("mode")
    value = default if value is None else value
    report.check(f"{path}.mode", checks.mode(value))
    return value


def _node(node: Document, path: str, report: Report) -> Document:
    report.check(f"{path}.path", checks.absolute_path(node.get("path", "")))
    return {
        "filesystem": node.get("filesystem") or "root",
        **_present(
            {
                "group": _account(node, "group", path, report),
                "overwrite": node.get("overwrite"),
            }
        ),
        "path": node.get("path", ""),
        **_present({"user": _account(node, "user", path, report)}),
    }


def _account(node: Document, field: str, path: str, report: Report) -> Document | None:
    account = node.get(field)
    if account is None:
        return None
    if account.get("id") is not None and account.get("name"):
        report.fail(f"{path}.{field}", "has both id and name")
    return {**_present({"id": account.get("id")}), **nonempty_fields({"name": account.get("name")})}


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that are set, regardless of their values."""
    return {name: value for name, value in fields.items() if value is not None}
