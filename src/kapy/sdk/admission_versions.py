"""Convert a provider's kinds between versions through the storage version (the hub).

The author writes both directions for each version, as far as both have the fields. Fields that an
older version lacks are stored in the annotation `cluster.x-k8s.io/conversion-data` (as for core's
kinds), so that a round trip loses nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from kapy.api.names import Annotation
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.meta import Object
from kapy.kube.names import Resource, split_api_version
from kapy.kube.nested import with_values
from kapy.kube.patch import merge_patch

DATA: Final = Annotation.CONVERSION_DATA
_ANNOTATIONS: Final = ("metadata", "annotations")


class CannotConvert(KapyError):
    """An object cannot be converted to another version of its kind."""


@dataclass(frozen=True, slots=True)
class Version:
    """The conversions between an older version of a kind and the hub.

    Both functions get a private copy, may change it, and return the object; they must not change
    `metadata` or `apiVersion`. kind: the Struct of that version, for its CRD.
    """

    to_hub: Callable[[Document], Document]
    from_hub: Callable[[Document], Document]
    kind: type[Object] | None = None


def convert(
    document: Document, api_version: str, hub: Resource, versions: Mapping[str, Version]
) -> Document:
    """Convert the object to another version. hub: the storage version. Raises CannotConvert."""
    if document["apiVersion"] == api_version:
        return document
    source, target = (
        _version(item, hub, versions) for item in (str(document["apiVersion"]), api_version)
    )
    if source is not None:
        document = {**_up(document, source), "apiVersion": hub.api_version}
    if target is not None:
        document = {**_down(document, target), "apiVersion": api_version}
    return document


def _version(api_version: str, hub: Resource, versions: Mapping[str, Version]) -> Version | None:
    """Return the version, None for the hub."""
    group, version = split_api_version(api_version)
    if group == hub.group and version == hub.version:
        return None
    if group == hub.group and version in versions:
        return versions[version]
    version_names = ", ".join(f"{hub.group}/{item}" for item in (hub.version, *versions))
    raise CannotConvert(
        f"{hub.kind} has no version {api_version}: its versions are {version_names}"
    )


def _up(document: Document, version: Version) -> Document:
    annotations = document["metadata"].get("annotations") or {}
    plain = _without_data(document)
    result = version.to_hub(copy.deepcopy(plain))
    if DATA not in annotations:
        return result
    try:
        remembered: Document = msgspec.json.decode(annotations[DATA], type=dict)
    except (ValueError, RecursionError) as error:
        raise CannotConvert(f"metadata.annotations[{DATA}] cannot be read: {error}") from None
    # Changes made since in the older version apply to the kept object, which has all fields.
    remembered = {**remembered, "metadata": result["metadata"]}
    then = version.to_hub(version.from_hub(copy.deepcopy(remembered)))
    then, result = ({**item, "apiVersion": "", "kind": plain["kind"]} for item in (then, result))
    restored: Document = merge_patch.apply(remembered, merge_patch.difference(then, result))
    return restored


def _down(document: Document, version: Version) -> Document:
    result = version.from_hub(copy.deepcopy(document))
    body = {key: value for key, value in document.items() if key not in ("apiVersion", "metadata")}
    again = version.to_hub(copy.deepcopy(result))
    if merge_patch.is_equal_json(body, {key: again[key] for key in body if key in again}):
        return result
    data = msgspec.json.encode(body).decode()
    annotations = {**(document["metadata"].get("annotations") or {}), DATA: data}
    return with_values(result, {_ANNOTATIONS: annotations})


def _without_data(document: Document) -> Document:
    annotations = document["metadata"].get("annotations") or {}
    if DATA not in annotations:
        return document
    others = {key: annotation for key, annotation in annotations.items() if key != DATA}
    metadata = {key: value for key, value in document["metadata"].items() if key != "annotations"}
    return {**document, "metadata": metadata | ({"annotations": others} if others else {})}
