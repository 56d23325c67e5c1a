"""Environment variables of a container, and the sources of a Pod's environment and volumes.

Sources are Secrets, ConfigMaps, and the Pod's own fields and resources. `Sources` looks them up in
the agent's cache. Environment variables come from `envFrom` and then from `env`. `expand` replaces
references, `$(NAME)`, as Kubernetes does: `$$` is a dollar sign, and a reference to an unknown
variable stays unchanged. Pure.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.go_literals import go_quoted
from kapy.kube.quantity import InvalidQuantity, parse

_INDEXED: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_RESOURCE: Final = re.compile(
    r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)", re.DOTALL
)
_LARGEST: Final = Decimal(2**63 - 1)
_ALLOCATABLE: Final = {"cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi"}
"""The limit of a resource for a container without one, if the Node does not have a capacity."""

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]*)\))")


class MissingSource(KapyError):
    """An object that a container needs does not exist yet; the message is the kubelet's."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The objects that one Pod may refer to.

    secret, config_map: look up an object in the Pod's namespace by name. allocatable: the Node's
    resources.
    """

    pod: Document
    secret: Callable[[str], Document | None]
    config_map: Callable[[str], Document | None]
    allocatable: Mapping[str, str]

    def secret_data(self, name: str, *, optional: bool = False) -> dict[str, bytes] | None:
        """Return the data of a Secret; None if it is optional and missing. Raises MissingSource."""
        result = self.secret(name)
        if result is None:
            _check_optional("secret", name, optional=optional)
            return None
        return {key: _decode(value) for key, value in (result.get("data") or {}).items()}

    def config_data(self, name: str, *, optional: bool = False) -> dict[str, bytes] | None:
        """Return the data of a ConfigMap, as `secret_data`. Raises MissingSource."""
        result = self.config_map(name)
        if result is None:
            _check_optional("configmap", name, optional=optional)
            return None
        text = {key: str(value).encode() for key, value in (result.get("data") or {}).items()}
        more = {key: _decode(value) for key, value in (result.get("binaryData") or {}).items()}
        return text | more

    def field(self, path: str) -> str:
        """Return the value of a Pod field by its `fieldRef`. Raises MissingSource."""
        meta = self.pod["metadata"]
        status = self.pod.get("status") or {}
        spec = self.pod["spec"]
        indexed = _INDEXED.fullmatch(path)
        if indexed is not None:
            return str((meta.get(indexed[1]) or {}).get(indexed[2], ""))
        readers: Mapping[str, Callable[[], Any]] = {
            "metadata.name": lambda: meta["name"],
            "metadata.namespace": lambda: meta["namespace"],
            "metadata.uid": lambda: meta["uid"],
            "metadata.labels": lambda: _lines(meta.get("labels")),
            "metadata.annotations": lambda: _lines(meta.get("annotations")),
            "spec.nodeName": lambda: spec.get("nodeName", ""),
            "spec.serviceAccountName": lambda: spec.get("serviceAccountName") or "default",
            "status.hostIP": lambda: status.get("hostIP", ""),
            "status.hostIPs": lambda: _addresses(status, "hostIP"),
            "status.podIP": lambda: status.get("podIP", ""),
            "status.podIPs": lambda: _addresses(status, "podIP"),
        }
        if path not in readers:
            raise MissingSource(f"the field {path} is not one that a container can refer to")
        return str(readers[path]())

    def resource(self, container: Document | None, reference: Mapping[str, Any]) -> str:
        """Return a limit or request, as `resourceFieldRef` asks for it: of the container that it
        names, else of this one. Raises MissingSource.
        """
        container, has_default = self._container(container, str(reference.get("containerName", "")))
        name = str(reference.get("resource", ""))
        match = _RESOURCE.fullmatch(name)
        if match is None:
            raise MissingSource(f"the resource {name} is not one that a container can refer to")
        resources = container.get("resources") or {}
        value = _amount((resources.get(match[1]) or {}).get(match[2]) or "0")
        if not value and match[1] == "limits" and has_default and match[2] in _ALLOCATABLE:
            value = _amount(self.allocatable.get(match[2], _ALLOCATABLE[match[2]]))
        divisor = _amount(reference.get("divisor") or "1") or Decimal(1)
        whole = (value / divisor).to_integral_value(rounding=ROUND_CEILING)
        return str(int(min(whole, _LARGEST)))

    def _container(self, own: Document | None, name: str) -> tuple[Document, bool]:
        """Return the container that a reference names, and whether the Node's capacity is the
        default of its limits. As in a kubelet, it is not for an init container that is named."""
        if not name and own is not None:
            return own, True
        for field in ("containers", "initContainers"):
            for item in self.pod["spec"].get(field) or ():
                if item.get("name") == name:
                    return item, field == "containers"
        raise MissingSource(f"container {name} not found")


def _check_optional(kind: str, name: str, *, optional: bool) -> None:
    if not optional:
        raise MissingSource(f'{kind} "{name}" not found')


def _decode(value: Any) -> bytes:
    try:
        return base64.b64decode(str(value))
    except binascii.Error:
        return b""


def _amount(text: Any) -> Decimal:
    try:
        return parse(text)
    except InvalidQuantity as error:
        raise MissingSource(str(error)) from None


def _addresses(status: Mapping[str, Any], field: str) -> str:
    """Return all addresses in a list field of the status, or else the one in the singular field."""
    listed = [str(item.get("ip", "")) for item in status.get(f"{field}s") or ()]
    return ",".join(listed) or str(status.get(field, ""))


def _lines(values: Mapping[str, str] | None) -> str:
    lines = (f"{key}={go_quoted(str(value))}" for key, value in sorted((values or {}).items()))
    return "\n".join(lines)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Return the text with the values of the variables that it refers to."""

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$"
        return variables.get(name, match[0])

    return _REFERENCE.sub(replaced, text)


def environment_of(
    container: Document, sources: Sources, base: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment variables of a container. base: those that the agent sets; the
    container's own win.

    Raises MissingSource.
    """
    result = dict(base)
    for item in container.get("envFrom") or ():
        prefix = item.get("prefix") or ""
        for key, data in _variables_from(item, sources).items():
            result[f"{prefix}{key}"] = data.decode("utf-8", "replace")
    for item in container.get("env") or ():
        value = _value(item, container, sources, result)
        if value is not None:
            result[item["name"]] = value
    return result


def _variables_from(source: Mapping[str, Any], sources: Sources) -> Mapping[str, bytes]:
    for field, data in (("secretRef", sources.secret_data), ("configMapRef", sources.config_data)):
        reference = source.get(field)
        if reference is not None:
            optional = bool(reference.get("optional"))
            return data(reference.get("name", ""), optional=optional) or {}
    return {}


def _value(
    entry: Mapping[str, Any], container: Document, sources: Sources, variables: Mapping[str, str]
) -> str | None:
    """Return the value of a variable, None if it is optional and its source does not exist."""
    source = entry.get("valueFrom")
    if not source:
        return expand(str(entry.get("value") or ""), variables)
    if "fieldRef" in source:
        return sources.field(source["fieldRef"].get("fieldPath", ""))
    if "resourceFieldRef" in source:
        return sources.resource(container, source["resourceFieldRef"])
    for field, kind, data in (
        ("secretKeyRef", "secret", sources.secret_data),
        ("configMapKeyRef", "configmap", sources.config_data),
    ):
        if field in source:
            reference = source[field]
            optional = bool(reference.get("optional"))
            values = data(reference.get("name", ""), optional=optional)
            result = None if values is None else values.get(reference.get("key", ""))
            if result is None and not optional:
                name, key = reference.get("name", ""), reference.get("key", "")
                raise MissingSource(f"couldn't find key {key} in {kind} {name}")
            return None if result is None else result.decode("utf-8", "replace")
    raise MissingSource(f"the variable {entry.get('name')} has a source that is not supported")
