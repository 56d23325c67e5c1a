"""Clusters move from one plane of this process to another."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.fleet import Shape, fleet, names
from kapy.clusterctl.move.journal import Mode, MoveStarted, Place
from kapy.clusterctl.move.log import no_log
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.preflight import start_move

Row = dict[str, Any]


async def move(number: int) -> list[Row]:
    """`number` clusters of 1+2: until all are in the other plane only."""
    begun = MoveStarted("1", Mode.CLUSTERS, "default", Place(), Place())
    async with fleet() as here, fleet() as there:
        await here.create(Shape(workers=2, keys="ECDSA-P256"), names(number))
        with tempfile.TemporaryDirectory() as folder, here.costs.of() as cost:
            path = Path(folder) / "journal.jsonl"
            journal = await start_move(here.client, there.client, begun, path, no_log)
            await Mover(here.client, there.client, journal, no_log).run()
        return [{"step": f"move {number} clusters of 1+2", **cost.as_row(), "clusters": number}]
