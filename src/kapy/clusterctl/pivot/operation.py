"""A pivot as a whole, and its way back; each resumes from the steps that are done already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from kapy._aio.clock import Clock
from kapy.client.client import Client
from kapy.clusterctl import install
from kapy.clusterctl.bounded_gather import bounded_gather
from kapy.clusterctl.certificates.choice import Choice
from kapy.clusterctl.components import PROVIDER_LABEL
from kapy.clusterctl.config import Config
from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.install.queue import queue
from kapy.clusterctl.inventory import Installed, Inventory
from kapy.clusterctl.move.checks import identity
from kapy.clusterctl.move.discovery import list_objects
from kapy.clusterctl.move.journal import Journal, Mode, MoveStarted, Place, unfinished_moves
from kapy.clusterctl.move.kinds import resource_of
from kapy.clusterctl.move.log import Log
from kapy.clusterctl.move.mover import Mover
from kapy.clusterctl.move.operation import journal_of, move_start, new_path
from kapy.clusterctl.move.preflight import check_source, rehearse
from kapy.clusterctl.pivot.host import (
    CLUSTERS,
    check_cluster,
    check_nodes,
    check_not_in_memory,
    unavailable,
)
from kapy.clusterctl.pivot.managers import wait_until_managers_run
from kapy.clusterctl.pivot.required_providers import RequiredProviders, required_providers
from kapy.clusterctl.progress import Progress
from kapy.clusterctl.retry import retry
from kapy.clusterctl.waiting import WaitTimeout, has_condition, wait_until
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError, NotFound
from kapy.kube.names import CRDS

_RESUME_HINT: Final = "run the same command again: it goes on where this one ended"


@dataclass(frozen=True)
class Side:
    """One management cluster of a pivot. kubeconfig, context: the kubeconfig file and the context
    for later commands.
    """

    client: Client
    kubeconfig: str = ""
    context: str = ""


@dataclass(frozen=True)
class Direction:
    """Options of a pivot. wait: seconds for each provider, and for the Cluster at the end.
    journals: the folder of move journals. local: programs by the labels of providers that the
    management cluster runs as local programs, in place of images."""

    config: Config
    clock: Clock
    journals: Path
    say: Progress
    tell: Log
    wait: float = install.providers.DEFAULT_TIMEOUT
    certificates: Choice = "auto"
    local: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Leftovers:
    """The objects that a management cluster still has after a pivot."""

    clusters: tuple[Key, ...]
    providers: tuple[Installed, ...]


class Pivot:
    """A pivot of one Cluster. plane: the management cluster that it comes from. itself: the
    workload cluster.

    All methods raise MoveError, other ClusterctlErrors, ApiErrors and Unreachable, and can be
    repeated after that.
    """

    def __init__(self, cluster: Key, plane: Side, itself: Side, direction: Direction) -> None:
        self._cluster = cluster
        self._plane = plane
        self._itself = itself
        self._way = direction

    async def rehearse(self) -> None:
        """Log what `pivot` would do, and change nothing."""
        if not await self._is_new():
            self._way.say(f"Cluster {self._cluster} manages itself already")
            return
        wanted = await self._check()
        for provider in wanted.there:
            self._way.say("Would keep", provider=provider.label, version=provider.version)
        components = await queue(
            wanted.requested, await self._installed_in_target(), self._way.config, self._way.say
        )
        for component in components:
            label = component.provider.label
            result = {"program": self._way.local[label]} if label in self._way.local else {}
            namespace = component.target_namespace
            self._way.say(
                "Would install",
                provider=label,
                version=component.version,
                namespace=namespace,
                **result,
            )
            if result:
                self._way.say(
                    f"{label} runs here as a local program; the cluster will need its image",
                    images=", ".join(component.images),
                )
        await rehearse(self._plane.client, self._cluster.namespace, self._way.tell)

    async def pivot(self) -> None:
        """Move the cluster's objects into the cluster itself."""
        if await self._finish_earlier(forth=True) or not await self._is_new():
            await self._wait_until_available(self._itself)
            return
        wanted = await self._check()
        await self._install(wanted)
        besides = frozenset(provider.label for provider in wanted.unused)
        await self._move(self._plane, self._itself, besides)
        await self._wait_until_available(self._itself)

    async def unpivot(self) -> None:
        """Move the cluster's objects back to the management cluster from which they came."""
        if not await self._finish_earlier(forth=False):
            if await self._find_cluster(self._itself) is None:
                if await self._find_cluster(self._plane) is None:
                    raise self._not_found_error()
            else:
                labels = [
                    provider.label for provider in await Inventory(self._plane.client).installed()
                ]
                await self._wait_until_running(self._plane, labels)
                await self._move(self._itself, self._plane, frozenset())
        await self._wait_until_available(self._plane)

    async def remains(self) -> Leftovers:
        """Return the objects that the management cluster still has."""
        client = self._plane.client
        clusters = [Key.of(obj) for obj in await list_objects(client, CLUSTERS, "")]
        return Leftovers(tuple(clusters), tuple(await Inventory(client).installed()))

    async def _is_new(self) -> bool:
        """Return whether the Cluster has not been moved yet. Raises MoveError if neither side has
        it.
        """
        if await self._find_cluster(self._plane) is not None:
            return True
        if await self._find_cluster(self._itself) is not None:
            return False
        raise self._not_found_error()

    def _not_found_error(self) -> MoveError:
        return MoveError(
            f"there is no Cluster {self._cluster.name} in namespace {self._cluster.namespace}, "
            "here or in the cluster itself; `kubectl get clusters -A` lists those there are"
        )

    async def _find_cluster(self, side: Side) -> Document | None:
        try:
            return await retry(partial(side.client.get, CLUSTERS, self._cluster))
        except NotFound:
            return None

    async def _check(self) -> RequiredProviders:
        """Return the providers that the cluster needs. Raises MoveError if it cannot be pivoted
        now.
        """
        plane, itself = self._plane.client, self._itself.client
        cluster = await retry(partial(plane.get, CLUSTERS, self._cluster))
        check_cluster(cluster)
        await check_not_in_memory(plane, cluster)
        await check_nodes(itself, self._cluster.name, self._itself.kubeconfig)
        await check_source(plane, self._cluster.namespace)
        source = await Inventory(plane, reached=True).installed()
        used = await bounded_gather(
            partial(self._uses, provider) for provider in source if provider.built_in
        )
        labels = {label for label in used if label}
        providers = required_providers(source, await self._installed_in_target(), labels)
        for provider in providers.unused:
            self._way.say(f"Skipping {provider.label}: a part of this plane that nothing here uses")
        await self._report_other_clusters()
        return providers

    async def _installed_in_target(self) -> list[Installed]:
        return await Inventory(self._itself.client).installed()

    async def _uses(self, provider: Installed) -> str:
        """Return the provider's label if it has objects here, "" otherwise."""
        client = self._plane.client
        selector = f"{PROVIDER_LABEL}={provider.label}"
        crds = await retry(partial(client.list, CRDS, labels=selector))
        for item in crds.items:
            if await list_objects(client, resource_of(item), ""):
                return provider.label
        return ""

    async def _report_other_clusters(self) -> None:
        objects = await list_objects(self._plane.client, CLUSTERS, self._cluster.namespace)
        others = sorted(Key.of(item).name for item in objects if Key.of(item) != self._cluster)
        if others:
            self._way.say(
                f"Clusters of namespace {self._cluster.namespace} move together",
                alsoMoved=", ".join(others),
            )

    async def _install(self, required: RequiredProviders) -> None:
        direction = self._way
        if required.missing:
            options = install.InstallOptions(certificates=direction.certificates)
            await install.init(
                self._itself.client,
                direction.config,
                required.requested,
                options=options,
                clock=direction.clock,
                progress=direction.say,
            )
        await self._wait_until_running(self._itself, required.labels)

    async def _wait_until_running(self, side: Side, labels: frozenset[str] | list[str]) -> None:
        local = self._way.local if side is self._itself else {}
        await wait_until_managers_run(
            side.client, frozenset(labels), local, within=self._way.wait, progress=self._way.say
        )

    async def _move(self, source: Side, target: Side, besides: frozenset[str]) -> None:
        direction, namespace = self._way, self._cluster.namespace
        places = [
            Place(side.kubeconfig, side.context, await identity(side.client))
            for side in (source, target)
        ]
        new = move_start(Mode.CLUSTERS, namespace, *places)
        path = new_path(direction.journals, namespace, direction.clock())
        journal = await journal_of(
            new, source.client, target.client, path, direction.tell, besides=besides
        )
        await self._run_move(journal, source, target, undo=False)

    async def _finish_earlier(self, *, forth: bool) -> bool:
        """Finish an interrupted move between the two clusters: continue it if it has the same
        direction, else roll it back. Returns whether the Cluster is in its destination now."""
        results = await self._earlier_move()
        if results is None:
            return False
        path, move = results
        is_forth = move.target.identity == await identity(self._itself.client)
        ways = (self._plane, self._itself) if is_forth else (self._itself, self._plane)
        undo = is_forth is not forth
        verb = "Undoing" if undo else "Going on with"
        self._way.say(f"{verb} a move that did not end", journal=str(path))
        journal = Journal.open(path)
        undone = undo or journal.state.turned_back
        await self._run_move(journal, *ways, undo=undo)
        return (is_forth is not undone) is forth

    async def _earlier_move(self) -> tuple[Path, MoveStarted] | None:
        ids = {await identity(side.client) for side in (self._plane, self._itself)}
        for path, move in unfinished_moves(self._way.journals).items():
            sides = {move.source.identity, move.target.identity}
            if sides == ids and move.namespace == self._cluster.namespace:
                return path, move
        return None

    async def _run_move(self, journal: Journal, source: Side, target: Side, *, undo: bool) -> None:
        try:
            mover = Mover(source.client, target.client, journal, self._way.tell)
            await (mover.roll_back() if undo else mover.run())
        except KapyError as error:
            if journal.has_ended:
                raise
            raise MoveError(f"{error}; {_RESUME_HINT} (journal {journal.path})") from None
        finally:
            journal.close()

    async def _wait_until_available(self, side: Side) -> None:
        """Wait until the Cluster is Available in its new management cluster. Raises WaitTimeout."""
        latest: Document = {}

        def available(cluster: Document | None) -> bool:
            latest.update(cluster or {})
            return cluster is not None and has_condition(cluster, "Available")

        self._way.say(f"Waiting for Cluster {self._cluster} to be Available")
        try:
            await wait_until(side.client, CLUSTERS, self._cluster, available, within=self._way.wait)
        except TimeoutError:
            raise WaitTimeout(
                f"Cluster {self._cluster} was moved, and is not Available after "
                f"{self._way.wait:.0f} s: {unavailable(latest)}; look at the managers there, then "
                "run this again, or the other way (`--back`)"
            ) from None
