"""The scenarios of `make bench`. Each scenario runs in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from benchmarks import (
    api_server,
    caches,
    classes,
    clusterctl,
    clusters,
    command_line,
    extensions,
    first_provider,
    fleet_page,
    health_checks,
    heap,
    hosts,
    kinds,
    lifetime,
    managers,
    many_watchers,
    moves,
    processes,
    real,
    remote,
    sdk,
    settled,
    storage,
    topology,
)
from benchmarks.fleet import Shape

Scenario: TypeAlias = Callable[[], Coroutine[Any, Any, list[dict[str, Any]]]]

ECDSA: Final = "ECDSA-P256"
RSA: Final = "RSA-2048"


def _create(number: int, **shape: Any) -> Scenario:
    return partial(clusters.create_and_delete, number, Shape(**shape))


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "command-line": command_line.start_up,
    "cold-start": command_line.cold_start,
    "first-provider": first_provider.compared,
    "init": partial(clusterctl.init, 0),
    "init-500-foreign": partial(clusterctl.init, 500),
    "api-server-in-process": api_server.in_process,
    "api-server-https": api_server.over_https,
    "api-server-https-2-api-processes": api_server.over_https_by_processes,
    "api-server-watchers": many_watchers.measure,
    "store-memory": storage.memory,
    "store-start": storage.start,
    "kinds": kinds.documents,
    "real": real.compared,
    "topology": topology.desired,
    "health-check-1000": partial(health_checks.look_at, 1000),
    "fleet-page-1000": partial(fleet_page.measured, 1000),
    "fleet-page-10000": partial(fleet_page.measured, 10_000),
    "settled": settled.looks,
    "sdk": sdk.looks,
    "cached": caches.cached,
    "heap-300": partial(heap.by_owner, 300),
    "extensions": extensions.measured,
    "managers-10": partial(managers.at_work, 10),
    "managers-100": partial(managers.at_work, 100),
    "managers-1000": partial(managers.at_work, 1000),
    "managers-start-100": partial(managers.started, 100),
    "managers-start-1000": partial(managers.started, 1000),
    "remote-100": partial(remote.reached, 100, 5),
    "remote-1000": partial(remote.reached, 1000, 50),
    "1x1+0": _create(1),
    "1x1+0-ecdsa": _create(1, keys=ECDSA),
    "1x1+3": _create(1, workers=3),
    "1x1+3-ecdsa": _create(1, workers=3, keys=ECDSA),
    "1x1+3-delays": _create(1, workers=3, delays="upstream"),
    "10x1+0": _create(10),
    "10x1+0-ecdsa": _create(10, keys=ECDSA),
    "10x1+3": _create(10, workers=3),
    "10x1+3-ecdsa": _create(10, workers=3, keys=ECDSA),
    "50x1+3": _create(50, workers=3),
    "50x1+3-ecdsa": _create(50, workers=3, keys=ECDSA),
    "100x1+0": _create(100),
    "100x1+0-ecdsa": _create(100, keys=ECDSA),
    "100x1+0-ecdsa-1-process": partial(processes.create, 100, 1),
    "100x1+0-ecdsa-2-processes": partial(processes.create, 100, 2),
    "100x1+0-ecdsa-3-processes": partial(processes.create, 100, 3),
    "1000x1+0-ecdsa-1-process": partial(processes.create, 1000, 1),
    "1000x1+0-ecdsa-2-processes": partial(processes.create, 1000, 2),
    "100x1+0-2-processes": partial(processes.create, 100, 2, keys=RSA),
    "1000x1+0-2-processes": partial(processes.create, 1000, 2, keys=RSA),
    "1000x1+0": _create(1000),
    "1000x1+0-ecdsa": _create(1000, keys=ECDSA),
    "10000x1+0-ecdsa": _create(10_000, keys=ECDSA),
    "life-100-2-processes": partial(lifetime.live, 100, 2),
    "life-1000-1-process": partial(lifetime.live, 1000, 1),
    "life-1000-2-processes": partial(lifetime.live, 1000, 2),
    "life-3000-2-processes": partial(lifetime.live, 3000, 2),
    "life-10000-2-processes": partial(lifetime.live, 10_000, 2),
    "workers-3-50-3": partial(clusters.scale_workers, 3, 50),
    "workers-3-500-3": partial(clusters.scale_workers, 3, 500),
    "workers-3-1000-3": partial(clusters.scale_workers, 3, 1000),
    "rollout-50": partial(clusters.roll_out, 50),
    "rollout-500": partial(clusters.roll_out, 500),
    "rollout-1000": partial(clusters.roll_out, 1000),
    "control-plane-1-3-1": partial(clusters.scale_control_plane, 1, 3),
    "class-1x1+3-ecdsa": partial(
        classes.create_and_look, 1, classes.OfClass(workers=3, keys=ECDSA)
    ),
    "class-10x1+3-ecdsa": partial(
        classes.create_and_look, 10, classes.OfClass(workers=3, keys=ECDSA)
    ),
    "class-roll-100": partial(classes.roll, 100, classes.OfClass(workers=1, keys=ECDSA)),
    "hosts-200": partial(hosts.at_once, 200),
    "move-100": partial(moves.move, 100),
    "upgrade-3+3": partial(clusters.upgrade, 3, 3),
}

ON_DEMAND: Final = frozenset({"10000x1+0-ecdsa", "life-10000-2-processes", "hosts-200", "real"})
"""Scenarios that run only by name: those of 10,000 clusters take half an hour and 4 GB of memory;
`real` needs root and a container engine, and takes minutes; `hosts-200` needs asyncssh, which the
environment of the tests has."""
