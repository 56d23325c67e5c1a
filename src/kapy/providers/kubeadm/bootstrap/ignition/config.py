"""Container Linux Configs translated to Ignition 2.3, and merged."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

import yaml

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.yaml import YamlError
from kapy.kube.yaml_nodes import first_document
from kapy.providers.kubeadm.bootstrap.ignition import sections
from kapy.providers.kubeadm.bootstrap.ignition.checks import Report
from kapy.providers.kubeadm.bootstrap.ignition.nodes import Reader
from kapy.providers.kubeadm.bootstrap.ignition.schema import CONFIG, NOT_SUPPORTED
from kapy.providers.kubeadm.bootstrap.ignition.storage import storage

_MOST_SHOWN: Final = 5
_HTML: Final = str.maketrans(
    {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
)


class CannotTranslate(KapyError):
    """A Container Linux Config has no equal in Ignition."""


@dataclass(frozen=True, slots=True)
class Translated:
    """An Ignition config, and the warnings about the config that it was translated from."""

    config: Document
    warnings: tuple[str, ...]


def translate(text: str, what: str, *, strict: bool, only: bool = False) -> Translated:
    """Return the Ignition config of a Container Linux Config.

    what: the name of the config, for errors. strict: whether warnings are errors. only: whether a
    second YAML document is an error, too. Raises CannotTranslate.
    """
    reader, report = Reader(), Report()
    section = _read(text, what, reader, only=only)
    _refuse(what, reader.errors, reader.warnings if strict else [])
    if section.get("version"):
        report.fail("version", "must be 0")
    storage_section = storage(section.get("storage") or {}, report)
    if added := sections.update_file(section, report):
        storage_section["files"] = [*storage_section.get("files", ()), *added]
    config = {
        "ignition": sections.ignition(section.get("ignition") or {}, report),
        "networkd": sections.networkd(section.get("networkd") or {}, report),
        "passwd": sections.passwd(section.get("passwd") or {}, report),
        "storage": dict(sorted(storage_section.items())),
        "systemd": sections.systemd(section, report),
    }
    _refuse(what, report.errors, report.warnings if strict else [])
    return Translated(config, (*reader.warnings, *report.warnings))


def _read(text: str, what: str, reader: Reader, *, only: bool) -> Document:
    try:
        root = first_document(text, only=only)
    except YamlError as error:
        raise CannotTranslate(f"{what} is not YAML: {error}") from error
    if root is None:
        reader.warnings.append("the config is empty")
        return {}
    if isinstance(root, yaml.MappingNode):
        for key, _ in root.value:
            if key.value in NOT_SUPPORTED:
                line = key.start_mark.line + 1
                reader.errors.append(
                    f"line {line}: the section {key.value} is not supported: use systemd.units"
                )
    result = reader.read(CONFIG, root, "")
    return result if isinstance(result, dict) else {}


def _refuse(what: str, errors: list[str], warnings: list[str]) -> None:
    problems = [*errors, *warnings]
    if problems:
        more = len(problems) - _MOST_SHOWN
        rest = f"; and {more} more" if more > 0 else ""
        raise CannotTranslate(f"{what}: {'; '.join(problems[:_MOST_SHOWN])}{rest}")


def merge_configs(first: Document, second: Document) -> Document:
    """Merge two Ignition configs: lists are concatenated, single values of the second win."""
    result = {name: _merge_values(first[name], second[name]) for name in first}
    result["ignition"] = {
        "config": second["ignition"]["config"],
        "security": _merge_values(first["ignition"]["security"], second["ignition"]["security"]),
        "timeouts": _merge_values(first["ignition"]["timeouts"], second["ignition"]["timeouts"]),
        "version": first["ignition"]["version"],
    }
    return result


def _merge_values(first: Any, second: Any) -> Any:
    if isinstance(first, dict) and isinstance(second, dict):
        names = sorted({*first, *second})
        return {name: _merge_values(first.get(name), second.get(name)) for name in names}
    if isinstance(first, list) and isinstance(second, list):
        return [*first, *second]
    return first if second is None else second


def as_go_json(config: Document) -> str:
    """Return an Ignition config as Go prints JSON."""
    return json.dumps(config, ensure_ascii=False, separators=(",", ":")).translate(_HTML)
