"""What a look at an object costs when there is nothing to do."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from benchmarks.fleet import Fleet, Shape, fleet, names
from kapy.engine.cache import Informer
from kapy.engine.controller import Controller

Row = dict[str, Any]
KINDS: Final = (
    "cluster",
    "machinedeployment",
    "machineset",
    "machine",
    "kubeadmcontrolplane",
    "kubeadmconfig",
    "devcluster",
    "devmachine",
)
LOOKS: Final = 500
SETTLING: Final = 15.0  # seconds; nothing tells that nothing is left to do


async def looks() -> list[Row]:
    """Every controller, over the objects of one settled cluster of 1+3, again and again."""
    async with fleet() as herd:
        await herd.create(Shape(workers=3, keys="ECDSA-P256"), names(1))
        await asyncio.sleep(SETTLING)
        reconciled = herd.plane.runtime.reconciled
        return [
            await _looked(herd, controller, of)
            for name in KINDS
            for controller, of in reconciled
            if controller.name == name
        ]


async def _looked(herd: Fleet, controller: Controller, of: Informer[Any]) -> Row:
    keys = of.keys()
    with herd.costs.of() as cost:
        began = time.process_time()
        for number in range(LOOKS):
            await controller.look(keys[number % len(keys)])
        microseconds = (time.process_time() - began) / LOOKS * 1e6
    return {"step": f"look at a {controller.name}", **cost.as_row(), "us": round(microseconds, 1)}
