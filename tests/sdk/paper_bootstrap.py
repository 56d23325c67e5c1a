"""A whole bootstrap provider: machines that start with a sheet of paper."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import ClassVar, Final

from msgspec import field

from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model
from kapy.kube.names import Resource
from kapy.sdk import (
    BootstrapContext,
    BootstrapData,
    BootstrapProvider,
    Released,
    Unchanged,
    Waiting,
)
from kapy.sdk.controllers import Clock

GOOD_FOR: Final = timedelta(minutes=1)
GROUP = "bootstrap.cluster.x-k8s.io"
CONFIG: Document = {"apiVersion": f"{GROUP}/v1", "kind": "PaperConfig", "spec": {"ink": "blue"}}


class PaperConfigSpec(Model):
    ink: str = "black"


class PaperConfig(Object):
    RESOURCE: ClassVar[Resource] = Resource(GROUP, "v1", "paperconfigs", "PaperConfig")

    spec: PaperConfigSpec = field(default_factory=PaperConfigSpec)


class PaperBoot(BootstrapProvider[PaperConfig]):
    """Writes a sheet for each machine; the first one of a cluster gets another one."""

    initialises = True

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def data(self, context: BootstrapContext[PaperConfig]) -> BootstrapData | Waiting:
        self.asked.append(context.key.name)
        what = "begin" if context.first else "join"
        sheet = f"{what} {context.cluster.name} {context.version} in {context.object.spec.ink}"
        return BootstrapData(value=sheet.encode())


class Letterhead(BootstrapProvider[Document]):
    """Sheets that are good for a minute; asks nobody to begin. Has a drawer to clear up."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.drawer: set[str] = set()

    async def data(self, context: BootstrapContext[Document]) -> BootstrapData | Waiting:
        self.drawer.add(context.key.name)
        sheet = self.clock().isoformat().encode()
        return BootstrapData(
            value=sheet, format="letter", requeue_after=GOOD_FOR, requeue_reason="the ink fades"
        )

    async def refresh(
        self, context: BootstrapContext[Document], bootstrap_data: BootstrapData
    ) -> BootstrapData | Unchanged | Waiting:
        if context.pool is None:
            return Unchanged()
        age = self.clock() - datetime.fromisoformat(bootstrap_data.value.decode())
        if age < GOOD_FOR:
            return Unchanged(requeue_after=GOOD_FOR - age, requeue_reason="the ink fades")
        return await self.data(context)

    async def reconcile_delete(self, context: BootstrapContext[Document]) -> Released | Waiting:
        self.drawer.discard(context.key.name)
        return Released()
