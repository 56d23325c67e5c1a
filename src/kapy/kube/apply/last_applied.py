"""The last-applied annotation, for the change from client-side to server-side apply.

kubectl's server-side apply may take over a field without force if the last client-side apply set it
and nobody has changed it since. The annotation is kept up to date, so that the user can go back to
client-side apply.
"""

from __future__ import annotations

import json
from typing import Final

from kapy.kube import Document
from kapy.kube.apply.comparison import changes
from kapy.kube.apply.fields import Fields, difference
from kapy.kube.apply.merging import owned_fields
from kapy.kube.apply.types import MapType
from kapy.kube.foreign_json import decode_json

MANAGER: Final = "kubectl"
"""The field manager of kubectl's server-side apply; nobody else's is treated like this."""

ANNOTATION: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""Where kubectl keeps what a client-side apply asked for."""

_LIMIT: Final = 256 * 1024


def unchanged_fields(root: MapType, live: Document) -> Fields:
    """Return the fields of the last client-side apply that still have their values."""
    try:
        last = decode_json(_annotations(live).get(ANNOTATION) or "null")
    except ValueError:
        return {}
    if not isinstance(last, dict) or last.get("apiVersion") != live["apiVersion"]:
        return {}
    changed, removed = changes(root, last, live)
    fields = owned_fields(root, last) or {}
    return difference(difference(fields, changed or {}), removed or {})


def refresh_annotation(result: Document, applied: Document) -> Document:
    """Return the object with its last-applied annotation, if it has one, set to the
    applied object.
    """
    annotations = _annotations(result)
    if not annotations.get(ANNOTATION):
        return result
    rest = {key: value for key, value in _annotations(applied).items() if key != ANNOTATION}
    metadata = {key: value for key, value in applied["metadata"].items() if key != "annotations"}
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
