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
    BootstrapData,
    BootstrapOrder,
    BootstrapProvider,
    Clock,
    Released,
    Unchanged,
    Waiting,
)

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

    async def data(self, order: BootstrapOrder[PaperConfig]) -> BootstrapData | Waiting:
        self.asked.append(order.key.name)
        what = "begin" if order.first else "join"
        sheet = f"{what} {order.cluster.name} {order.version} in {order.object.spec.ink}"
        return BootstrapData(value=sheet.encode())


class Letterhead(BootstrapProvider[Document]):
    """Sheets that are good for a minute; asks nobody to begin. Has a drawer to clear up."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.drawer: set[str] = set()

    async def data(self, order: BootstrapOrder[Document]) -> BootstrapData | Waiting:
        self.drawer.add(order.key.name)
        sheet = self.clock().isoformat().encode()
        return BootstrapData(
            value=sheet, format="letter", look_again=GOOD_FOR, because="the ink fades"
        )

    async def refresh(
        self, order: BootstrapOrder[Document], made: BootstrapData
    ) -> BootstrapData | Unchanged | Waiting:
        if order.pool is None:
            return Unchanged()
        age = self.clock() - datetime.fromisoformat(made.value.decode())
        if age < GOOD_FOR:
            return Unchanged(look_again=GOOD_FOR - age, because="the ink fades")
        return await self.data(order)

    async def release(self, order: BootstrapOrder[Document]) -> Released | Waiting:
        self.drawer.discard(order.key.name)
        return Released()
