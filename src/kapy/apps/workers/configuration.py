"""The configuration of a worker process, which its plane sends, and the shards of a plane."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec

from kapy._aio.clock import Clock
from kapy._aio.cores import usable_cores
from kapy.apps.settings import ControllerConfig, Processes
from kapy.client.client import Client
from kapy.engine.leadership import LeaderElectionConfig
from kapy.engine.shards import Shards, slot_name
from kapy.kube import Key
from kapy.kube.regexp import Regexp, compile_pattern

LEASE: Final = Key("kube-system", "kapy-processes")
"""The name from which the Leases of the processes derive theirs."""
PLANE_SLOT: Final = 0
"""The slot of the plane's own process; workers have the following numbers."""
PLANE_WEIGHTS: Final = {2: 0.25}
PLANE_WEIGHT: Final = 0.05
"""The share of the plane's process in the clusters, where that of a worker is 1, by the number of
processes. It has the API server and the simulated machines to run as well, which are more than 40 %
of all work: decision 0015."""
AUTO_PROCESSES: Final = 3
"""Processes that `auto` starts at most: with more, the API server is what takes longest."""
AUTO_CLUSTERS: Final = 100
"""Clusters from which on `auto` has workers: fewer are made in seconds, and a worker has 90 MB."""
YEARS: Final = 3e8
"""Seconds for which the plane's own Lease holds: as long as nobody but it can write, nobody else
can take it."""


class WorkerConfig(msgspec.Struct, kw_only=True):
    """The configuration of one worker.

    slot: the number of its shard, of `processes`. controllers: their settings. sockets: clusters
    that are not simulated can be reached. log_level: the least level that the plane logs.
    """

    slot: int
    processes: int
    controllers: ControllerConfig
    sockets: bool
    log_level: int

    @property
    def name(self) -> str:
        """The name of the worker."""
        return worker_name(self.slot)


def process_count(processes: Processes) -> int:
    """Return how many processes a plane has at most."""
    return min(usable_cores(), AUTO_PROCESSES) if processes == "auto" else processes


def worker_name(slot: int) -> str:
    """Return the name of the worker of a slot."""
    return f"worker-{slot}"


def worker_terms(slot: int, process: int) -> LeaderElectionConfig:
    """Return the terms of a worker's Lease. process: the id of the process.

    They are longer than those of managers, because the plane gives the Lease of a worker that has
    died to the others at once: only one that hangs is noticed by its Lease.
    """
    return LeaderElectionConfig(
        lease=LEASE,
        identity=f"{worker_name(slot)}_{process}",
        duration=45.0,
        renew_deadline=30.0,
        retry_period=8.0,
    )


def plane_terms() -> LeaderElectionConfig:
    """Return the terms of the Lease of the plane's process."""
    return LeaderElectionConfig(
        lease=LEASE,
        identity="plane",
        duration=YEARS + 1,
        renew_deadline=YEARS,
        retry_period=60.0,
    )


def shards_of(
    client: Client,
    terms: LeaderElectionConfig,
    slot: int,
    processes: int,
    clock: Clock,
    random: Random,
) -> Shards:
    """Return the membership of one process of a plane."""
    weights = {slot_name(LEASE, PLANE_SLOT): PLANE_WEIGHTS.get(processes, PLANE_WEIGHT)}
    return Shards(client, terms, processes, clock, random, slot=slot, weights=weights)


def encode(config: WorkerConfig) -> bytes:
    """Encode a configuration for `decode`."""
    return msgspec.json.encode(config, enc_hook=_to_text)


def decode(encoded: bytes) -> WorkerConfig:
    """Decode the configuration of a worker."""
    return msgspec.json.decode(encoded, type=WorkerConfig, dec_hook=_from_text)


def _to_text(value: Any) -> str:
    return value.text if isinstance(value, Regexp) else str(value)


def _from_text(kind: type[Any], value: Any) -> Any:
    return compile_pattern(value) if kind is Regexp else Path(value)
