"""The cost of a look at an object when there is nothing to do."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any, Final

from benchmarks.fleet import Fleet, Shape, fleet, names
from kapy.engine.cache import Informer
from kapy.engine.controller import Controller
from kapy.kube import Key

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
LOOKS: Final = 40
ROUNDS: Final = 25
SETTLING: Final = 15.0  # seconds, because no event tells that all work is done


async def looks() -> list[Row]:
    """Measure every controller on the objects of one settled cluster of 1+3."""
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
        rounds = sorted([await _round(controller, keys) for _ in range(ROUNDS)])
    results = {"us": round(rounds[0], 1), "median_us": round(rounds[ROUNDS // 2], 1)}
    return {"step": f"look at a {controller.name}", **cost.as_row(), **results}


async def _round(controller: Controller, keys: Sequence[Key]) -> float:
    """Microseconds of a look; the best round is the one that nobody else disturbed."""
    began = time.process_time()
    for number in range(LOOKS):
        await controller.reconcile_once(keys[number % len(keys)])
    return (time.process_time() - began) / LOOKS * 1e6
