"""Makes a provider's manager watch all namespaces.

Contract: "Controllers & Watching namespace". The manager's `--namespace` flag limits it to one;
clusterctl installs one instance of a provider for all namespaces.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kapy.clusterctl.components.images import MANAGER, containers
from kapy.kube import Document

_FLAG: Final = "--namespace"


def watched_namespaces(document: Document) -> Iterator[str]:
    """The namespaces to which the managers of a Deployment are limited."""
    for arguments in _arguments(document):
        yield from (value for value in map(_value, arguments, [*arguments[1:], ""]) if value)


def watch_everything(document: Document) -> None:
    """Remove the namespace limit from the managers of a Deployment."""
    for arguments in _arguments(document):
        for number, argument in enumerate(arguments):
            if argument == _FLAG and number + 1 < len(arguments):
                arguments[number + 1] = ""
            elif _value(argument, ""):
                arguments[number] = f"{_FLAG}="


def _value(argument: Any, following: Any) -> str:
    """Return the value of the flag, if the argument is that flag."""
    if argument == _FLAG:
        return str(following)
    name, _, value = str(argument).partition("=")
    return value if name == _FLAG else ""


def _arguments(document: Document) -> Iterator[list[Any]]:
    if document.get("kind") == "Deployment":
        for container in containers(document):
            arguments = container.get("args")
            if container.get("name") == MANAGER and isinstance(arguments, list):
                yield arguments
