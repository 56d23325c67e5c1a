"""Patches by runtime extensions: building the requests and reading the responses.

Requests and responses are documents of `hooks.runtime.cluster.x-k8s.io/v1alpha1` in wire format
(patches in responses are base64).
"""

from __future__ import annotations

import binascii
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from kapy.api.cluster import Cluster
from kapy.kube import Document
from kapy.kube.foreign_json import decode_json
from kapy.kube.go_literals import fit_integers
from kapy.kube.patch.strict_json_patch import BadPatch, Operation, parse_patch
from kapy.topology.patches.item import Holder, Item

_VERSION: Final = "hooks.runtime.cluster.x-k8s.io/v1alpha1"
_UIDS: Final = uuid.UUID("b3c0a2b4-6f0e-5d0e-9a53-4c1a5f6d7e21")


class ExternalPatches(Protocol):
    """Calls the extensions that a ClusterClass names. Methods raise KapyError if an extension
    cannot be called or responds with a failure.

    cluster: the Cluster that is patched; its namespace selects the extensions.
    """

    async def generate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        """Send a GeneratePatchesRequest to an extension; return the GeneratePatchesResponse."""

    async def validate(self, extension: str, cluster: Cluster, request: Document) -> Document:
        """Send a ValidateTopologyRequest to an extension; return the ValidateTopologyResponse."""


@dataclass(frozen=True, slots=True)
class MergePatch:
    """A JSON merge patch; an empty one changes nothing."""

    patch: Any


def uid_of(holder: Holder) -> str:
    """Return the UID of a template in requests; the same in every request."""
    return str(uuid.uuid5(_UIDS, "/".join(holder)))


def generate_request(
    items: Iterable[tuple[Item, Document]], variables: Document, settings: Mapping[str, str]
) -> Document:
    """Return the GeneratePatchesRequest of an extension. items: each with the variables of its
    part.
    """
    result = [{"uid": uid_of(item.holder), **_item(item, own)} for item, own in items]
    return _request("GeneratePatchesRequest", result, variables, settings)


def validate_request(
    items: Iterable[tuple[Item, Document]], variables: Document, settings: Mapping[str, str]
) -> Document:
    """Return the ValidateTopologyRequest of an extension, with all patches applied."""
    result = [_item(item, own) for item, own in items]
    return _request("ValidateTopologyRequest", result, variables, settings)


def _request(
    kind: str, items: list[Document], variables: Document, settings: Mapping[str, str]
) -> Document:
    request: Document = {"apiVersion": _VERSION, "kind": kind}
    if settings:
        request["settings"] = dict(settings)
    return {**request, "variables": _variables(variables), "items": items}


def _item(item: Item, own: Document) -> Document:
    result = {"holderReference": item.holder.document(), "object": item.document}
    return {**result, "variables": _variables(own)} if own else result


def _variables(variables: Document) -> list[Document]:
    return [{"name": name, "value": value} for name, value in variables.items()]


def patches_in(
    response: Document, items: Iterable[Item]
) -> Iterator[tuple[Item, list[Operation] | MergePatch]]:
    """The patches of a response in order, each with its template. Raises BadPatch."""
    by_uid = {uid_of(entry.holder): entry for entry in items}
    for number, element in enumerate(response.get("items") or ()):
        item = by_uid.get(element.get("uid"))
        if item is None:
            raise BadPatch(f"items[{number}] is for a template that nobody asked for")
        where = f"items[{number}] for {item}"
        yield item, _read(element.get("patch") or "", element.get("patchType"), where)


def _read(encoded: str, kind: Any, location: str) -> list[Operation] | MergePatch:
    if kind not in ("JSONPatch", "JSONMergePatch"):
        raise BadPatch(f'{location} is neither a JSONPatch nor a JSONMergePatch, but "{kind}"')
    if not encoded and kind == "JSONMergePatch":
        return MergePatch({})
    try:
        patch = decode_json(binascii.a2b_base64(encoded))
        return MergePatch(fit_integers(patch)) if kind == "JSONMergePatch" else parse_patch(patch)
    except BadPatch as error:
        raise BadPatch(f"{location}: {error}") from None
    except ValueError as error:
        raise BadPatch(f"{location} is no JSON: {error}") from None
