"""Reads inventories of hosts: a list in kapy's own format, or an Ansible inventory in YAML or INI. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import ValidationError, convert

from kapy.client import KapyError
from kapy.kube.yaml import YamlError, load
from kapy.sdk import Document
from kapy.sdk.field_errors import FieldError
from kapy_hosts.kinds import MOVE, Host, host_problems

GROUP_LABEL: Final = "group.hosts.cluster.x-k8s.io/"
MAX_BYTES: Final = 4 << 20
_ANSIBLE: Final = {"ansible_host": "address", "ansible_port": "port", "ansible_user": "user", "ansible_become": "sudo"}
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_YES: Final = ("true", "yes", "1", "on")


class BadInventory(KapyError):
    """An inventory that cannot be read; the message names the host and the field."""


def read_inventory(text: str, namespace: str) -> list[Document]:
    """Return the Hosts of an inventory. Raises BadInventory.

    Ours is `hosts:`, a list of `name`, `labels` and the fields of a Host's spec, and `defaults:` for all of them.
    """
    if len(text) > MAX_BYTES:
        raise BadInventory(f"the inventory has more than {MAX_BYTES >> 20} MiB")
    try:
        value = load(text) if not re.match(r"\s*(#.*\n\s*|;.*\n\s*)*\[[A-Za-z]", text) else None
    except YamlError as error:
        raise BadInventory(f"the inventory is no YAML: {error}") from None
    if value is None:
        entries = _of_ini(text)
    elif isinstance(value, dict) and isinstance(value.get("hosts"), list):
        entries = _of_list(value)
    elif isinstance(value, dict):
        entries = _of_groups(value)
    else:
        raise BadInventory("the inventory must have `hosts:`, or be an Ansible inventory")
    hosts = [_host(name, spec, labels, namespace) for name, (spec, labels) in entries.items()]
    if not hosts:
        raise BadInventory("the inventory has no hosts")
    return hosts


Entries = dict[str, tuple[Document, dict[str, str]]]


def _of_list(value: Document) -> Entries:
    defaults = value.get("defaults") or {}
    entries: Entries = {}
    for number, entry in enumerate(value["hosts"]):
        if not isinstance(entry, dict) or not isinstance(defaults, dict):
            raise BadInventory(f"hosts[{number}] and defaults must be mappings")
        spec = {**defaults, **entry}
        name, labels = str(spec.pop("name", "") or spec.get("address", "")), spec.pop("labels", None) or {}
        if name in entries:
            raise BadInventory(f"host {name} is there twice")
        entries[name] = spec, labels
    return entries


def _of_groups(value: Document) -> Entries:
    entries: Entries = {}
    for group, content in value.items():
        _add_group(entries, str(group), content, {}, depth=0)
    return entries


def _add_group(entries: Entries, group: str, content: Any, inherited: Document, depth: int) -> None:
    if content is None:
        return
    if not isinstance(content, dict) or depth > 16:
        raise BadInventory(f"group {group} must be a mapping with hosts, children or vars")
    variables = {**inherited, **_mapping(content.get("vars"), f"{group}.vars")}
    for name, own in _mapping(content.get("hosts"), f"{group}.hosts").items():
        _add_host(entries, str(name), {**variables, **_mapping(own, f"host {name}")}, group)
    for name, child in _mapping(content.get("children"), f"{group}.children").items():
        _add_group(entries, str(name), child, variables, depth + 1)


def _of_ini(text: str) -> Entries:
    entries: Entries = {}
    variables: dict[str, Document] = {}
    members: list[tuple[str, str, Document]] = []
    group, kind = "ungrouped", ""
    for line in text.splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            group, _, kind = line.strip("[] ").partition(":")
            continue
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise BadInventory(f"line {line[:80]!r}: {error}") from None
        pairs = dict(word.partition("=")[::2] for word in words[0 if kind == "vars" else 1 :])
        if kind == "vars":
            variables.setdefault(group, {}).update(pairs)
        elif not kind:
            members.append((words[0], group, pairs))
    for name, group, pairs in members:
        _add_host(entries, name, {**variables.get("all", {}), **variables.get(group, {}), **pairs}, group)
    return entries


def _add_host(entries: Entries, name: str, variables: Mapping[str, Any], group: str) -> None:
    spec, labels = entries.setdefault(name, ({}, {}))
    for variable, field in _ANSIBLE.items():
        if variable in variables:
            value = variables[variable]
            if field == "sudo":
                value = str(value).lower() in _YES
            elif field == "port":
                value = int(value) if str(value).isdigit() else value
            spec[field] = value
    spec.setdefault("address", name)
    if group not in ("all", "ungrouped"):
        labels[f"{GROUP_LABEL}{group.replace('_', '-')}"] = ""


def _mapping(value: Any, where: str) -> Document:
    if not isinstance(value, dict | None):
        raise BadInventory(f"{where} must be a mapping")
    return value or {}


def _host(name: str, spec: Document, labels: Document, namespace: str) -> Document:
    name = name.lower().replace("_", "-")
    if not _NAME.fullmatch(name):
        raise BadInventory(f"host {name[:80]!r}: a name has letters, digits, - and .")
    document: Document = {
        "apiVersion": Host.RESOURCE.api_version,
        "kind": Host.RESOURCE.kind,
        "metadata": {"name": name, "namespace": namespace, "labels": {**labels, MOVE: ""}},
        "spec": spec,
    }
    try:
        problems = [*_unknown(spec), *host_problems(convert(document, Host), None)]
    except ValidationError as error:
        raise BadInventory(f"host {name}: {error}") from None
    if problems:
        raise BadInventory(f"host {name}: {problems[0]}")
    return document


def _unknown(spec: Document) -> Iterator[FieldError | str]:
    fields = {"address", "port", "user", "sudo", "privateKeySecretRef", "hostKey", "jumpHost", "failureDomain"}
    for name in spec:
        if name not in fields | {"ignoredChecks", "unschedulable"}:
            yield f"{name} is no field of a Host"
