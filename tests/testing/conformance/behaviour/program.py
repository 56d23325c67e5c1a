"""The provider that is written by hand, as a program: `python -m … [--role ROLE] [flags]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from pathlib import Path

from kapy._aio.clock import system_clock
from kapy.client.https import ApiTransport
from kapy.client.kubeconfig import Kubeconfig, parse
from kapy.engine.options import ManagerOptions
from kapy.kube import Document
from kapy.sdk import Runtime
from tests.testing.conformance.behaviour.plain import RESOURCES, Plain


class OfFiles(Plain):
    """With a file for each object, where there is a folder. clings: nothing is let go."""

    folder: Path | None = None
    clings = False

    async def create(self, document: Document) -> None:
        if self.folder is not None:
            self.file(document).touch()
        await super().create(document)

    async def let_go(
        self, document: Document, owner: Document | None, cluster: Document | None
    ) -> None:
        if self.clings:
            return
        if self.folder is not None:
            self.file(document).unlink(missing_ok=True)
        await super().let_go(document, owner, cluster)

    def file(self, document: Document) -> Path:
        assert self.folder is not None
        metadata = document["metadata"]
        return self.folder / f"{self.role}.{metadata['namespace']}.{metadata['name']}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--namespace", default="")
    parser.add_argument("--watch-filter", default="")
    parser.add_argument("--die-after", type=float, default=0.0)
    parser.add_argument("--cloud", type=Path)
    parser.add_argument("--cling", action="store_true")
    parser.add_argument("--ask", action=argparse.BooleanOptionalAction, default=True)
    result = parser.parse_args()
    if not result.ask:
        asyncio.run(asyncio.sleep(60))
    access = parse(Path(os.environ["KUBECONFIG"]).read_text())
    options = ManagerOptions(namespace=result.namespace, watch_filter=result.watch_filter)
    OfFiles.folder, OfFiles.clings = result.cloud, result.cling
    asyncio.run(run(access, options, result.die_after))


async def run(access: Kubeconfig, options: ManagerOptions, die_after: float) -> None:
    runtime = Runtime.on(ApiTransport(access), clock=system_clock, options=options)
    for role in RESOURCES:
        OfFiles(runtime, role)
    async with asyncio.TaskGroup() as group:
        group.create_task(runtime.run())
        if die_after:
            await asyncio.sleep(die_after)
            sys.stdout.write("the cloud is gone\n")
            sys.stdout.flush()
            os._exit(3)


if __name__ == "__main__":
    main()
