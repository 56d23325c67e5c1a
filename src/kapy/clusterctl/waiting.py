"""Waits for changes of objects by watching them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.errors import ClusterctlError
from kapy.clusterctl.retry import retry
from kapy.kube import Document, Key
from kapy.kube.errors import Expired, NotFound, Unreachable
from kapy.kube.names import CRDS, Resource

ESTABLISHED_WITHIN: Final = 60.0
"""Time limit in seconds for an API server to serve a new kind, as in upstream."""

Done = Callable[[Document | None], bool]
"""Whether an object is in the expected state; its argument is None if it does not exist."""


class WaitTimeout(ClusterctlError):
    """The expected state was not reached in time."""


async def wait_until(
    client: Client, resource: Resource, key: Key, predicate: Done, *, within: float
) -> Document | None:
    """Wait until an object is in the expected state; returns it. Raises TimeoutError after `within`
    seconds."""
    import asyncio

    async with asyncio.timeout(within):
        while True:
            result, settled = await _watch_once(client, resource, key, predicate)
            if settled:
                return result


async def wait_until_established(client: Client, names: Sequence[str]) -> None:
    """Wait until the API server serves the kinds of these CRDs. Raises WaitTimeout."""

    async def wait(name: str) -> None:
        try:
            await wait_until(client, CRDS, Key("", name), is_established, within=ESTABLISHED_WITHIN)
        except TimeoutError:
            raise WaitTimeout(
                f"the API server does not serve {name} after {ESTABLISHED_WITHIN:.0f} s; "
                f"`kubectl describe crd {name}` says why"
            ) from None

    await bounded_gather(partial(wait, name) for name in names)


async def wait_until_deleted(
    client: Client, resource: Resource, key: Key, *, within: float
) -> None:
    """Wait until an object that is being deleted is gone. Raises TimeoutError."""
    await wait_until(client, resource, key, lambda result: result is None, within=within)


def is_established(crd: Document | None) -> bool:
    """Return whether the API server serves the kind of a CRD."""
    return crd is not None and has_condition(crd, "Established")


def has_condition(document: Document, of_type: str) -> bool:
    """Return whether a condition of an object is True."""
    conditions = (document.get("status") or {}).get("conditions") or []
    return any(
        condition["type"] == of_type and condition["status"] == "True" for condition in conditions
    )


async def _watch_once(
    client: Client, resource: Resource, key: Key, predicate: Done
) -> tuple[Document | None, bool]:
    """Return the object, and whether it is in the expected state; returns at the latest when its
    watch ends.
    """
    listed = await retry(
        lambda: client.list(resource, key.namespace, fields=f"metadata.name={key.name}")
    )
    result = next(iter(listed.items), None)
    if predicate(result):
        return result, True
    try:
        async with client.watch(
            resource,
            key.namespace,
            resource_version=listed.resource_version,
            fields=f"metadata.name={key.name}",
        ) as events:
            async for event in events:
                if event.type == "BOOKMARK":
                    continue
                result = None if event.type == "DELETED" else event.document
                if predicate(result):
                    return result, True
    except (Expired, NotFound, Unreachable):
        pass  # list again, within the same timeout
    return result, False
