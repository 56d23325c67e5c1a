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
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import WaitTimeout, has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.errors import Expired, NotFound, Unreachable
from kapy.kube.names import DEPLOYMENTS, PODS
from kapy.kube.selectors import selector_of

_NO_IMAGE: Final = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
_UNREADY_MESSAGE: Final = "with unready status"
"""Part of messages that only say that containers are not ready."""


async def wait_until_managers_run(
    client: Client,
    labels: Collection[str],
    local: Mapping[str, str],
    *,
    within: float,
    progress: Progress,
) -> None:
    """Wait until the Deployments of these providers are available.

    local: programs by the labels of providers that the other management cluster runs as local
    programs. Raises WaitTimeout.
    """
    listed = await retry(lambda: client.list(DEPLOYMENTS, labels=PROVIDER_LABEL))
    chosen = [
        item
        for item in listed.items
        if _label(item) in labels and has_manager({"kind": DEPLOYMENTS.kind, **item})
    ]
    waiting = [item for item in chosen if not has_condition(item, "Available")]
    if waiting:
        progress("Waiting for providers to be available...")
    await bounded_gather(
        partial(_wait_for_deployment, client, item, local.get(_label(item), ""), within, progress)
        for item in waiting
    )


def _label(deployment: Document) -> str:
    return str((deployment["metadata"].get("labels") or {}).get(PROVIDER_LABEL, ""))


async def _wait_for_deployment(
    client: Client, deployment: Document, program: str, within: float, progress: Progress
) -> None:
    key = Key.of(deployment)
    pods = _PodWatcher(client, deployment, program, progress)
    async with asyncio.TaskGroup() as group:  # `bounded_gather` unpacks its failures
        following = group.create_task(pods.follow())
        try:
            await wait_until(client, DEPLOYMENTS, key, _is_available, within=within)
        except TimeoutError:
            result = f": {pods.why}" if pods.why else ""
            raise WaitTimeout(
                f'deployment "{key.name}" is not ready after {within:.0f} s{result}; `kubectl '
                f"describe pods -n {key.namespace}` with the kubeconfig of that cluster says more; "
                "when the cause is gone, run this again"
            ) from None
        following.cancel()


def _is_available(deployment: Document | None) -> bool:
    return deployment is not None and has_condition(deployment, "Available")


class _PodWatcher:
    """The Pods of one Deployment. why: the last reported reason for which they do not run."""

    def __init__(
        self, client: Client, deployment: Document, program: str, progress: Progress
    ) -> None:
        self._client = client
        self._key = Key.of(deployment)
        self._label = _label(deployment)
        self._selector = selector_of(deployment["spec"].get("selector"))
        self._program = program
        self._say = progress
        self.why = ""

    async def follow(self) -> None:
        """Report each new reason. Raises WaitTimeout for a reason that waiting cannot remove."""
        while True:
            with suppress(Expired, NotFound, Unreachable):  # list again
                await self._follow()

    async def _follow(self) -> None:
        namespace = self._key.namespace
        listed = await retry(lambda: self._client.list(PODS, namespace))
        for item in listed.items:
            self._on_pod(item)
        async with self._client.watch(
            PODS, namespace, resource_version=listed.resource_version
        ) as events:
            async for event in events:
                if event.type not in ("BOOKMARK", "DELETED"):
                    self._on_pod(event.document)

    def _on_pod(self, pod: Document) -> None:
        if not self._selector.matches(pod["metadata"].get("labels") or {}):
            return
        reason = not_ready_reason(pod)
        if self._program and reason.startswith(_NO_IMAGE):
            raise WaitTimeout(
                f"{self._label} runs here as the program {self._program}, and the cluster cannot "
                f"get its image: {reason}; push an image of it to a registry that the cluster "
                "reaches, name it under `images` in the configuration file, and run this again"
            )
        if reason and reason != self.why and _UNREADY_MESSAGE not in reason:
            self.why = reason
            self._say(f"Waiting for deployment {self._key.name}", reason=reason)
