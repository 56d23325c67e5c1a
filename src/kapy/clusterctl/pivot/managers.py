"""Waits for the Deployments of providers, and reports why their Pods do not run."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from kapy.apiserver.controllers.workloads.pod_conditions import not_ready_reason
from kapy.client.client import Client
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.components.images import has_manager
from kapy.clusterctl.progress import Say
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import NotInTime, holds, until
from kapy.kube import Document, Key
from kapy.kube.errors import Expired, NotFound, Unreachable
from kapy.kube.names import DEPLOYMENTS, PODS
from kapy.kube.selectors import selector_of

_NO_IMAGE: Final = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_UNTOLD: Final = "with unready status"
"""Part of messages that only say that containers are not ready."""


async def until_managers_run(
    client: Client,
    labels: Collection[str],
    local: Mapping[str, str],
    *,
    within: float,
    say: Say,
) -> None:
    """Wait until the Deployments of these providers are available.

    local: programs by the labels of providers that the other management cluster runs as local
    programs. Raises NotInTime.
    """
    listed = await retry(lambda: client.list(DEPLOYMENTS, labels=PROVIDER_LABEL))
    chosen = [
        one
        for one in listed.items
        if _label(one) in labels and has_manager({"kind": DEPLOYMENTS.kind, **one})
    ]
    waiting = [one for one in chosen if not holds(one, "Available")]
    if waiting:
        say("Waiting for providers to be available...")
    await bounded_gather(
        partial(_available, client, one, local.get(_label(one), ""), within, say) for one in waiting
    )


def _label(deployment: Document) -> str:
    return str((deployment["metadata"].get("labels") or {}).get(PROVIDER_LABEL, ""))


async def _available(
    client: Client, deployment: Document, program: str, within: float, say: Say
) -> None:
    key = Key.of(deployment)
    pods = _Pods(client, deployment, program, say)
    async with asyncio.TaskGroup() as group:  # `side_by_side` unpacks its failures
        following = group.create_task(pods.follow())
        try:
            await until(client, DEPLOYMENTS, key, _is_available, within=within)
        except TimeoutError:
            told = f": {pods.why}" if pods.why else ""
            raise NotInTime(
                f'deployment "{key.name}" is not ready after {within:.0f} s{told}; `kubectl '
                f"describe pods -n {key.namespace}` with the kubeconfig of that cluster says more; "
                "when the cause is gone, run this again"
            ) from None
        following.cancel()


def _is_available(deployment: Document | None) -> bool:
    return deployment is not None and holds(deployment, "Available")


class _Pods:
    """The Pods of one Deployment. why: the last reported reason for which they do not run."""

    def __init__(self, client: Client, deployment: Document, program: str, say: Say) -> None:
        self._client = client
        self._key = Key.of(deployment)
        self._label = _label(deployment)
        self._selector = selector_of(deployment["spec"].get("selector"))
        self._program = program
        self._say = say
        self.why = ""

    async def follow(self) -> None:
        """Report each new reason. Raises NotInTime for a reason that waiting cannot remove."""
        while True:
            with suppress(Expired, NotFound, Unreachable):  # the list begins anew
                await self._follow()

    async def _follow(self) -> None:
        namespace = self._key.namespace
        listed = await retry(lambda: self._client.list(PODS, namespace))
        for one in listed.items:
            self._look(one)
        async with self._client.watch(
            PODS, namespace, resource_version=listed.resource_version
        ) as events:
            async for event in events:
                if event.type not in ("BOOKMARK", "DELETED"):
                    self._look(event.document)

    def _look(self, pod: Document) -> None:
        if not self._selector.matches(pod["metadata"].get("labels") or {}):
            return
        why = not_ready_reason(pod)
        if self._program and why.startswith(_NO_IMAGE):
            raise NotInTime(
                f"{self._label} runs here as the program {self._program}, and the cluster cannot "
                f"get its image: {why}; push an image of it to a registry that the cluster "
                "reaches, name it under `images` in the configuration file, and run this again"
            )
        if why and why != self.why and _UNTOLD not in why:
            self.why = why
            self._say(f"Waiting for deployment {self._key.name}", reason=why)
