"""Simulate management clusters with modelled costs, event by event.

A management cluster is simulated as API servers (a queue for all of them) and shards (a queue for
each). The work of a cluster passes through both in rounds: a shard reconciles, an API server
answers its requests and writes the change to each watcher, and every shard decodes the watch
events, because a shard watches all objects. The clusters are divided among shards by the function
that kapy's managers use, so that the imbalance is real. Service times and sizes come from
`figures.json`; what was not measured is a constant below.

A run depends on its arguments and on nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, heapreplace
from itertools import pairwise
from random import Random
from typing import Final

from benchmarks.capacity import (
    ETCD_QUOTA_MIB,
    ETCD_SHARE,
    MANAGER_MEMORY_MIB,
    Figures,
    Fleet,
    embedded,
    sharded,
)
from kapy.engine.cluster_of import rendezvous_owner
from kapy.kube import Key

SERVER_SHARE: Final = 0.25
"""Assumed: the share of the API server in the CPU time of an embedded plane."""
DECODE_S_PER_MIB: Final = 0.02
"""Assumed: CPU time in which a manager decodes 1 MiB of watch events and updates its cache."""
SEND_S_PER_MIB: Final = 0.002
"""Assumed: CPU time in which an API server writes 1 MiB of watch events to one watcher."""
DELIVERY_S: Final = 0.01
"""Assumed: the time of a watch event on its way, and of the debouncing before a reconcile."""
LEASE_S: Final = 15.0
"""The duration of a shard's Lease: for so long nobody serves the clusters of a lost shard."""
API_SERVER_CORES: Final = 4
"""Assumed: the cores of the API servers of a management cluster that work for kapy's requests."""
CREATION_ROUNDS: Final = 6
"""Rounds of a cluster's creation: infrastructure, certificates, first machine, workers, Nodes and
conditions."""


@dataclass(frozen=True, slots=True)
class Split:
    """The division of a fleet: management clusters, and shards of each."""

    management_clusters: int
    shards: int


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a change of one cluster, in `rounds` of the same size.

    cpu_s: reconciles, in the shard. server_s: requests, in an API server. event_mib: watch events
    that each shard gets.
    """

    rounds: int
    cpu_s: float
    server_s: float
    event_mib: float

    def times(self, factor: float, rounds: int) -> Work:
        """Return the same work, more or less of it and in other rounds."""
        return Work(rounds, self.cpu_s * factor, self.server_s * factor, self.event_mib * factor)


def creation(fleet: Fleet, figures: Figures) -> Work:
    """Return the work of creating one cluster of the fleet."""
    single = Fleet(1, fleet.workers, fleet.control_planes)
    cpu_s = embedded(single, figures).creation_s
    return Work(
        CREATION_ROUNDS,
        cpu_s * (1 - SERVER_SHARE),
        cpu_s * SERVER_SHARE,
        sharded(single, figures).event_mib,
    )


def replacement(fleet: Fleet, figures: Figures) -> Work:
    """Return the work of replacing all machines of one cluster, two machines at a time."""
    machines = fleet.control_planes + fleet.workers
    cpu_s = machines * figures.value("embedded", "cpu_s_per_worker")
    event_mib = machines * figures.value("objects", "event_kib_per_worker") / 1024
    # A machine is created and another one is deleted, which costs about half as much.
    return Work(
        max(1, machines // 2), cpu_s * (1 - SERVER_SHARE), cpu_s * SERVER_SHARE, event_mib
    ).times(1.5, max(1, machines // 2))


_RESTART: Final = -1
"""In place of the remaining steps of a change: a shard takes over a cluster."""


class Queue:
    """Servers that take jobs in the order of their arrival. speed: their share of a core each."""

    __slots__ = ("_free", "_speed", "busy_s", "jobs")

    def __init__(self, servers: int = 1, speed: float = 1.0) -> None:
        self._free = [0.0] * servers
        self._speed = speed
        self.busy_s = 0.0
        self.jobs = 0

    def serve(self, now: float, service_s: float) -> float:
        """Add a job. Returns when it is done."""
        free = self._free
        length = service_s / self._speed
        done = max(now, free[0]) + length
        heapreplace(free, done)
        self.busy_s += length
        self.jobs += 1
        return done


@dataclass(frozen=True, slots=True)
class Arrival:
    """A change of a cluster: when it is posted, and the number of the cluster."""

    at: float
    cluster: int


class ManagementCluster:
    """One management cluster: `owners` says the shard of each of its clusters.

    probe_share: the share of a core that a shard spends on the probes of one cluster. together:
    API server and shard are one process, as in an embedded plane.
    """

    def __init__(
        self, owners: Sequence[int], shards: int, *, probe_share: float = 0, together: bool = False
    ) -> None:
        self.owners = list(owners)
        loads = [0] * shards
        for owner in owners:
            loads[owner] += 1
        self.largest = max(loads, default=0)
        self.shards = [Queue(1, max(0.05, 1 - load * probe_share)) for load in loads]
        self.servers = self.shards[0] if together else Queue(API_SERVER_CORES)
        self._together = together
        self._lost_until: dict[int, float] = {}
        self._restart_s = 0.0

    def lose(self, shard: int, moment: float, restart_s: float) -> None:
        """Let a shard be lost from the begin of the run.

        Nobody serves its clusters until the moment. Then the other shards own them, and each of
        these clusters costs `restart_s` of work. If there is no other shard, it starts again.
        """
        lost = [cluster for cluster, owner in enumerate(self.owners) if owner == shard]
        others = [number for number in range(len(self.shards)) if number != shard] or [shard]
        for position, cluster in enumerate(lost):
            self.owners[cluster] = others[position % len(others)]
            self._lost_until[cluster] = moment
        self._restart_s = restart_s

    def play(
        self, arrivals: Iterable[Arrival], work: Work, *, at_a_time: int = 0
    ) -> Iterator[tuple[float, float]]:
        """Play changes. Yields when each was posted, and when it was complete.

        at_a_time: how many clusters change at a time; further ones are posted when others are
        complete. Without it, they are posted at their times.
        """
        waiting = sorted(arrivals, key=lambda arrival: arrival.at, reverse=True)
        began = at_a_time or len(waiting)
        order = len(self._lost_until)
        events: list[tuple[float, int, int, int, float]] = [
            (moment, number, cluster, _RESTART, moment)
            for number, (cluster, moment) in enumerate(self._lost_until.items())
        ]

        def post(now: float) -> None:
            nonlocal order
            arrival = waiting.pop()
            at = max(now, arrival.at)
            order += 1
            heappush(events, (at, order, arrival.cluster, 2 * work.rounds, at))

        for _ in range(min(began, len(waiting))):
            post(0.0)
        cpu_s, server_s = work.cpu_s / work.rounds, work.server_s / work.rounds
        event_mib = work.event_mib / work.rounds
        while events:
            now, _, cluster, steps, posted = heappop(events)
            order += 1
            if steps == _RESTART:
                self.shards[self.owners[cluster]].serve(now, self._restart_s)
                continue
            if steps % 2 == 0:
                if now < (moment := self._lost_until.get(cluster, 0.0)):
                    heappush(events, (moment, order, cluster, steps, posted))
                    continue
                done = self.shards[self.owners[cluster]].serve(now, cpu_s)
            else:
                done = self._answer(now, server_s, event_mib)
            if steps > 1:
                heappush(events, (done, order, cluster, steps - 1, posted))
                continue
            yield posted, done
            if waiting:
                post(done)

    def _answer(self, now: float, server_s: float, event_mib: float) -> float:
        """Answer the requests of a round, and give the watch events to all shards."""
        if self._together:
            return self.servers.serve(now, server_s)
        sent = event_mib * SEND_S_PER_MIB * len(self.shards)
        done = self.servers.serve(now, server_s + sent)
        for shard in self.shards:
            shard.serve(now, event_mib * DECODE_S_PER_MIB)
        return done + DELIVERY_S


def assignment(first: int, number: int, shards: int) -> list[int]:
    """Return the shard of each cluster, by the function that kapy's managers use."""
    names = [f"shard-{shard}" for shard in range(shards)]
    numbers = {name: shard for shard, name in enumerate(names)}
    return [
        numbers[rendezvous_owner(Key(f"team-{cluster % 100}", f"cluster-{cluster}"), names)]
        for cluster in range(first, first + number)
    ]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a scenario. utilisation: of the busiest shard, and of the API servers."""

    p50_s: float
    p99_s: float
    end_s: float
    changes: int
    shard_utilisation: float
    server_utilisation: float


Schedule = Callable[[int, Random], list[Arrival]]
"""The arrivals of a management cluster with so many clusters."""


def at_once(number: int, random: Random) -> list[Arrival]:
    """Post all clusters at the same moment, in any order."""
    clusters = list(range(number))
    random.shuffle(clusters)
    return [Arrival(0.0, cluster) for cluster in clusters]


def within(seconds: float, share: float = 1.0) -> Schedule:
    """Post changes of a share of all clusters at random moments of a period."""

    def schedule(number: int, random: Random) -> list[Arrival]:
        chosen = random.sample(range(number), round(number * share))
        return [Arrival(random.uniform(0, seconds), cluster) for cluster in chosen]

    return schedule


class LargeFleet:
    """A fleet that is divided among management clusters of (almost) the same size."""

    def __init__(self, fleet: Fleet, split: Split, figures: Figures, seed: int = 1) -> None:
        self.fleet, self.split, self.figures = fleet, split, figures
        self._seed = seed
        count = split.management_clusters
        bounds = [fleet.clusters * number // count for number in range(count + 1)]
        self.owners = [
            assignment(first, end - first, split.shards) for first, end in pairwise(bounds)
        ]

    def play(self, schedule: Schedule, work: Work, *, at_a_time: int = 0) -> Outcome:
        """Play a scenario in all management clusters."""
        return self._played(schedule, work, at_a_time, lambda _: None)

    def lose_a_shard(self, schedule: Schedule, work: Work) -> Outcome:
        """Play a scenario during which the first shard of each management cluster is lost."""

        def lose(cluster: ManagementCluster) -> None:
            cluster.lose(0, LEASE_S, self._restart_s())

        return self._played(schedule, work, 0, lose)

    def restore(self) -> Outcome:
        """Play the loss of a management cluster: another one gets the objects of its clusters from
        a backup, and reconciles each Machine once.
        """
        all_work = creation(self.fleet, self.figures)
        stored_mib = sharded(self.fleet, self.figures).stored_mib / self.fleet.clusters
        server_s = all_work.server_s * stored_mib / all_work.event_mib
        work = Work(1, self._restart_s(), server_s, stored_mib)
        return self._played(at_once, work, 0, lambda _: None, self.owners[:1])

    def _restart_s(self) -> float:
        """Return the CPU time in which a shard that starts reconciles the Machines of a cluster."""
        machines = self.fleet.machines / self.fleet.clusters
        return machines * self.figures.value("managers", "core_start_cpu_s_per_machine")

    def _played(
        self,
        schedule: Schedule,
        work: Work,
        at_a_time: int,
        prepare: Callable[[ManagementCluster], None],
        divided: Sequence[Sequence[int]] = (),
    ) -> Outcome:
        probes = self.figures.value("managers", "core_probe_percent_per_cluster") / 100
        taken: list[float] = []
        end, shard_busy, server_busy = 0.0, 0.0, 0.0
        for number, owners in enumerate(divided or self.owners):
            cluster = ManagementCluster(owners, self.split.shards, probe_share=probes)
            prepare(cluster)
            arrivals = schedule(len(owners), Random(self._seed * 1000 + number))
            for posted, done in cluster.play(arrivals, work, at_a_time=at_a_time):
                taken.append(done - posted)
                end = max(end, done)
            shard_busy = max(shard_busy, *(shard.busy_s for shard in cluster.shards))
            server_busy = max(server_busy, cluster.servers.busy_s / API_SERVER_CORES)
        taken.sort()
        last = len(taken) - 1
        if not taken:
            raise ValueError("nothing was posted")
        return Outcome(
            taken[last // 2],
            taken[last * 99 // 100],
            end,
            len(taken),
            min(1.0, shard_busy / end),
            min(1.0, server_busy / end),
        )

    def limits(self) -> dict[str, float]:
        """Return by name the share that each limit is used by the settled fleet, as a factor."""

        def core(name: str) -> float:
            return self.figures.value("managers", f"core_{name}")

        stored = sharded(self.fleet, self.figures).stored_mib / self.split.management_clusters
        return {
            "memory of a manager": self.memory_mib() / MANAGER_MEMORY_MIB,
            "etcd's quota": stored / (ETCD_QUOTA_MIB * ETCD_SHARE),
            "probes of a shard": self.largest() * core("probe_percent_per_cluster") / 100,
        }

    def largest(self) -> int:
        """Return the clusters of the largest shard."""
        return max(
            owners.count(shard) for owners in self.owners for shard in range(self.split.shards)
        )

    def memory_mib(self) -> float:
        """Return the memory of the largest core manager: its cache and its connections."""
        machines = self.fleet.machines / self.split.management_clusters

        def core(name: str) -> float:
            return self.figures.value("managers", f"core_{name}")

        return (
            core("base_mib")
            + machines * core("cache_mib_per_machine")
            + self.largest() * core("connection_mib_per_cluster")
        )


def embedded_creation(fleet: Fleet, figures: Figures) -> float:
    """Return in how many seconds an embedded plane creates a fleet that is posted at once."""
    plane = ManagementCluster([0] * fleet.clusters, 1, together=True)
    changes = plane.play(at_once(fleet.clusters, Random(1)), creation(fleet, figures))
    return max(done for _, done in changes)
