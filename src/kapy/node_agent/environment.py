"""The environment variables of a container: `envFrom`, then `env`, with references expanded.

`expand` replaces references, `$(NAME)`, as Kubernetes does it: `$$` is a dollar sign; a reference
to a variable that is not known stays as it is written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from kapy.kube import Document
from kapy.node_agent.sources import MissingSource, Sources

_REFERENCE: Final = re.compile(r"\$(?:\$|\(([^()]*)\))")


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
