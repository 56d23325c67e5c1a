"""The controller of Hosts: inspects them, and cleans those whose machine is gone."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from msgspec import to_builtins

from kapy.client import Conflict, NotFound
from kapy.sdk import DONE, Condition, Controller, Document, Key, Result, Runtime, conditions, requeue
from kapy.sdk.controllers import Change
from kapy_hosts import remote
from kapy_hosts.access import Access
from kapy_hosts.checks import Observed, general_problems
from kapy_hosts.claims import AVAILABLE, CLEAN, HostClaims
from kapy_hosts.kinds import Facts, Host
from kapy_hosts.shell import HostFailure

REACHABLE: Final = "Reachable"
HOST_KEY: Final = "HostKeyTrusted"
SUITABLE: Final = "Suitable"
NOT_REBOOTED: Final = "NotRebooted"
ADDRESSES: Final = "AddressesUnchanged"
FREE_PERIOD: Final = timedelta(minutes=5)
USED_PERIOD: Final = timedelta(seconds=60)
RETRY: Final = timedelta(seconds=15)
CONCURRENCY: Final = 64
"""Hosts at a time. More of them make the event loop slow, and fewer let silent hosts hold up others."""
CHECK: Final = "hosts.cluster.x-k8s.io/check"
"""An annotation: a new value has the Host looked at."""


class HostController:
    """Reconciles Hosts. No event reports that a host itself has changed, so each host is checked from time to time."""

    def __init__(self, runtime: Runtime, access: Access, claims: HostClaims) -> None:
        self._runtime = runtime
        self._access = access
        self._claims = claims
        self._events = runtime.events.for_component("host-controller")
        self.controller = Controller("host", self.reconcile, concurrency=CONCURRENCY)
        self.controller.watch(claims.hosts, _unless_status)
        runtime.add(self.controller, claims.hosts)

    async def reconcile(self, key: Key) -> Result:
        """Reconcile one Host."""
        host = self._claims.hosts.get(key)
        if host is None:
            return DONE
        claim = host.spec.claim
        try:
            if claim is not None and claim.released:
                return await self._clean(host)
            if host.deleting:
                return DONE
            return await self._look(host)
        except (Conflict, NotFound):
            return requeue(after=timedelta(seconds=1), because="the Host has changed")

    async def _look(self, host: Host) -> Result:
        try:
            shell = await self._access.shell(host)
            observed = await remote.look(shell)
        except HostFailure as failure:
            await self._unreachable(host, failure)
            return requeue(after=RETRY, because=str(failure))
        now = self._runtime.clock().timestamp()
        plane = await self._access.plane()
        current = self._claims.hosts.get(host.key)
        if current is None:
            return DONE
        await self._report(current, _state(current, observed, plane, now), observed.facts())
        period = USED_PERIOD if current.spec.claim else FREE_PERIOD
        return requeue(after=period, because="hosts tell of no change")

    async def _clean(self, host: Host) -> Result:
        assert host.spec.claim is not None
        try:
            shell = await self._access.shell(host)
            remnants = await remote.release(shell, host.spec.claim.uid)
        except HostFailure as failure:
            if isinstance(failure, remote.HeldByAnother):
                await self._claims.remove(self._current(host))
                return DONE  # another writer has the Host; that change enqueues it
            message = f"it could not be cleaned: {failure}"
            await self._quarantine(host, failure.reason, message, failure)
            return requeue(after=RETRY, because=message)
        current = self._current(host)
        if remnants:
            message = f"it did not come clean; left: {', '.join(remnants)}"
            await self._quarantine(current, "NotClean", message)
            return requeue(after=USED_PERIOD, because=message)
        await self._claims.remove(current)
        self._events.normal(host, "HostReleased", f"Host {host.metadata.name} is clean")
        return DONE  # the change enqueues it

    def _current(self, host: Host) -> Host:
        return self._claims.hosts.get(host.key) or host

    async def _quarantine(self, host: Host, reason: str, message: str, failure: HostFailure | None = None) -> None:
        before = conditions.get(host.status.conditions, CLEAN)
        if before is None or before.message != message:
            self._events.warning(host, "HostQuarantined", message)
        results = [] if failure is None else _unreachable_conditions(failure)
        results += [conditions.false(CLEAN, reason, message), conditions.false(AVAILABLE, "Quarantined", message)]
        await self._report(host, ("Quarantined", results), host.status.facts)

    async def _unreachable(self, host: Host, failure: HostFailure) -> None:
        current = self._current(host)
        state = "Unreachable" if current.spec.claim is None else "Claimed"
        results = _unreachable_conditions(failure)
        results.append(conditions.false(AVAILABLE, failure.reason, str(failure)))
        await self._report(current, (state, results), current.status.facts)

    async def _report(self, host: Host, state: tuple[str, list[Condition]], facts: Facts | None) -> None:
        before = to_builtins(host.status)
        now = self._runtime.clock()
        word, results = state
        for condition in results:
            conditions.set_condition(host, condition, now)
        if host.spec.claim is None:
            for outdated in (CLEAN, NOT_REBOOTED, ADDRESSES):
                conditions.delete_condition(host, outdated)
        host.status.state, host.status.facts = word, facts
        after: Document = to_builtins(host.status)
        if after == before:
            return
        await self._runtime.client.patch(Host.RESOURCE, host.key, {"status": after}, subresource="status")


def _unless_status(change: Change) -> Iterable[Key]:
    """Map a Host to its key, unless only its status has changed."""
    new, old = change.new, change.old
    if new is not None and old is not None and _reconcile_inputs(new) == _reconcile_inputs(old):
        return ()
    return (Key.of(change.document),)


def _reconcile_inputs(document: Document) -> tuple[object, ...]:
    metadata = document["metadata"]
    check = (metadata.get("annotations") or {}).get(CHECK)
    return document.get("spec"), check, metadata.get("deletionTimestamp")


def _unreachable_conditions(failure: HostFailure) -> list[Condition]:
    results = [conditions.false(REACHABLE, failure.reason, str(failure))]
    if failure.reason == "HostKeyChanged":
        results.append(conditions.false(HOST_KEY, failure.reason, str(failure)))
    return results


def _state(host: Host, observed: Observed, plane: str, now: float) -> tuple[str, list[Condition]]:
    """Return the state of a host that answers, and its conditions."""
    results = [conditions.true(REACHABLE, REACHABLE), conditions.true(HOST_KEY, HOST_KEY)]
    if host.spec.claim is not None:
        results += _in_use(host, observed)
        word = f"in use by {host.spec.claim.name}"
        return "Claimed", [*results, conditions.false(AVAILABLE, "Claimed", word)]
    uid, its_plane, owner = observed.claim
    if uid:
        whose = remote.describe_claim([uid, its_plane, owner])
        where = "this management cluster has no such claim" if its_plane == plane else "elsewhere"
        message = f"it is held by {whose}, {where}. If nobody uses it: kapy hosts release {host.metadata.name} --force"
        return "Held", [*results, conditions.false(AVAILABLE, "HeldByAnother", message)]
    problems = general_problems(observed, now, host.spec.ignored_checks)
    if problems:
        message = "; ".join(map(str, problems))
        results.append(conditions.false(SUITABLE, "ChecksFailed", message))
        return "Unsuitable", [*results, conditions.false(AVAILABLE, "Unsuitable", message)]
    results.append(conditions.true(SUITABLE, SUITABLE))
    if host.spec.unschedulable:
        message = "it is unschedulable"
        return "Unschedulable", [*results, conditions.false(AVAILABLE, "Unschedulable", message)]
    return "Free", [*results, conditions.true(AVAILABLE, AVAILABLE)]


def _in_use(host: Host, observed: Observed) -> list[Condition]:
    """Return the conditions of a host that runs a machine."""
    results = [conditions.true(SUITABLE, SUITABLE)]
    assert host.spec.claim is not None
    if observed["claim"] and observed.claim[0] != host.spec.claim.uid:
        message = f"the host is held by {remote.describe_claim(list(observed.claim))}"
        results = [conditions.false(SUITABLE, "HeldByAnother", message)]
    if observed["booted_id"]:
        changed = observed["booted_id"] != observed["boot_id"]
        message = "the host was restarted after its machine had started"
        results.append(
            conditions.false(NOT_REBOOTED, "Rebooted", message)
            if changed
            else conditions.true(NOT_REBOOTED, NOT_REBOOTED)
        )
    missing = set(observed["booted_addresses"].split()) - set(observed.addresses)
    if missing:
        message = f"addresses of the machine are gone: {', '.join(sorted(missing))}"
        results.append(conditions.false(ADDRESSES, "AddressesChanged", message))
    elif observed["booted_addresses"]:
        results.append(conditions.true(ADDRESSES, ADDRESSES))
    return results
