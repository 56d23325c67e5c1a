"""Which namespaces a provider's manager watches: always all.

Contract: "Controllers & Watching namespace". The manager's `--namespace` names one; clusterctl
installs one instance of a provider, for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.clusterctl.components.images import MANAGER, containers
from kapy.kube import Document

_FLAG: Final = "--namespace"


def watched(document: Document) -> Iterator[str]:
    """The namespaces that the managers of a Deployment are told to keep to."""
    for arguments in _arguments(document):
        yield from (value for value in map(_value, arguments, [*arguments[1:], ""]) if value)


def watch_everything(document: Document) -> None:
    """Tell the managers of a Deployment to watch all namespaces."""
    for arguments in _arguments(document):
        for number, one in enumerate(arguments):
            if one == _FLAG and number + 1 < len(arguments):
                arguments[number + 1] = ""
            elif _value(one, ""):
                arguments[number] = f"{_FLAG}="


def _value(argument: Any, following: Any) -> str:
    """The value of the flag, if an argument is the flag."""
    if argument == _FLAG:
        return str(following)
    name, _, value = str(argument).partition("=")
    return value if name == _FLAG else ""


def _arguments(document: Document) -> Iterator[list[Any]]:
    if document.get("kind") == "Deployment":
        for container in containers(document):
            given = container.get("args")
            if container.get("name") == MANAGER and isinstance(given, list):
                yield given
