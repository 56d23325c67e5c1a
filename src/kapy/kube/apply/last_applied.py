"""From `kubectl apply` to `kubectl apply --server-side`: the last-applied annotation.

What a client-side apply set and nobody changed since may be taken without force by kubectl's
server-side apply, and the annotation is kept up to date, so that the way back stays open.
"""

from __future__ import annotations

import json
from typing import Final

from kapy.kube import Document
from kapy.kube.apply.comparison import changes
from kapy.kube.apply.fields import Fields, difference
from kapy.kube.apply.merging import owned
from kapy.kube.apply.types import MapType
from kapy.kube.foreign_json import decoded

MANAGER: Final = "kubectl"
"""The field manager of kubectl's server-side apply; nobody else's is treated like this."""

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Where kubectl keeps what a client-side apply asked for."""

_LIMIT: Final = 256 * 1024


def allowed(root: MapType, live: Document) -> Fields:
    """The fields of the last client-side apply that still have its values."""
    try:
        last = decoded(_annotations(live).get(ANNOTATION) or "null")
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != live["apiVersion"]:
        return {}
    changed, removed = changes(root, last, live)
    fields = owned(root, last) or {}
    return difference(difference(fields, changed or {}), removed or {})


def refreshed(result: Document, applied: Document) -> Document:
    """The object with its annotation (if it has one) saying what was applied now."""
    annotations = _annotations(result)
    if not annotations.get(ANNOTATION):
        return result
    rest = {key: value for key, value in _annotations(applied).items() if key != ANNOTATION}
    metadata = {key: one for key, one in applied["metadata"].items() if key != "annotations"}
    metadata |= {"annotations": rest} if rest else {}
    configuration = {**applied, "metadata": metadata}
    text = json.dumps(configuration, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    others = {key: value for key, value in annotations.items() if key != ANNOTATION}
    size = sum(len(key) + len(value) for key, value in others.items())
    fits = size + len(ANNOTATION) + len(text) + 1 <= _LIMIT
    after = {**others, ANNOTATION: f"{text}\n"} if fits else others
    if after == annotations:
        return result
    return {**result, "metadata": {**result["metadata"], "annotations": after}}


def _annotations(document: Document) -> dict[str, str]:
    return (document.get("metadata") or {}).get("annotations") or {}
