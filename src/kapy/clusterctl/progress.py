"""Progress messages of operations: a text and values, in upstream's log format."""

from __future__ import annotations

import json
from typing import Protocol

from kapy.clusterctl.inventory import Installed
from kapy.kube import Document


class Progress(Protocol):
    """Receives a message at the start of each step."""

    def __call__(self, text: str, /, **values: str | Document) -> None: ...


def no_progress(text: str, /, **values: str | Document) -> None:
    """Drop a message."""


def of_provider(provider: Installed) -> Document:
    """Return a provider as a value of a message."""
    return {"name": provider.label, "namespace": provider.namespace}


def line(text: str, values: dict[str, str | Document]) -> str:
    """Return a message as a log line: `Installing provider="cluster-api" version="v1.14.0"`."""
    result = (f"{name}={json.dumps(item, separators=(',', ':'))}" for name, item in values.items())
    return " ".join([text, *result])
