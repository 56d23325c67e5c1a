"""The provider of HostMachines: it claims a Host for a machine, checks it, boots it, and gives it back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from ipaddress import ip_address
from typing import Final

from kapy.sdk import (
    Address,
    Condition,
    Controller,
    Document,
    InfraMachineProvider,
    Key,
    MachineContext,
    Provisioned,
    Released,
    Runtime,
    Waiting,
    conditions,
)
from kapy.sdk.boot import BadBootData, boot_plan
from kapy.sdk.controllers import Change
from kapy_hosts import remote
from kapy_hosts.access import Access
from kapy_hosts.boot_steps import BootStep, archive, boot_steps, step_names
from kapy_hosts.checks import general_problems, machine_problems
from kapy_hosts.claims import HostClaims, NoHost, Request, is_free
from kapy_hosts.endpoints import Endpoints
from kapy_hosts.hosts import REACHABLE
from kapy_hosts.install import install_steps
from kapy_hosts.kinds import Claim, Host, HostMachine
from kapy_hosts.shell import BROKEN, HostFailure, Shell

PREFIX: Final = "hosts://"
CLAIMED: Final = "HostClaimed"
BOOTED: Final = "BootCompleted"
HOST_REACHABLE: Final = "HostReachable"
START: Final = timedelta(milliseconds=100)
POLL: Final = timedelta(seconds=2)
RETRY: Final = timedelta(seconds=10)
NO_HOST_RETRY: Final = timedelta(seconds=60)
_DATA_IGNORED: Final = "BootDataIgnored"

Context = MachineContext[HostMachine]


def claim_id(context: Context) -> str:
    """Return the ID of a machine's claim: its first UID, which the provider ID keeps in a move."""
    return context.object.spec.provider_id.removeprefix(PREFIX) or context.uid


class Machines(InfraMachineProvider[HostMachine]):
    """The machines on Hosts."""

    def __init__(self, runtime: Runtime, access: Access, claims: HostClaims, endpoints: Endpoints) -> None:
        self._runtime = runtime
        self._access = access
        self._claims = claims
        self._endpoints = endpoints
        self._machines = runtime.cache.informer(HostMachine.RESOURCE)
        self._steps: dict[str, Mapping[str, str]] = {}
        self._events = runtime.events.for_component("hostmachine-controller")

    def wake(self, controller: Controller) -> None:
        """Enqueue a machine when its Host changes, and those without one when a Host becomes free."""
        controller.watch(self._claims.hosts, self._of_host)

    def _of_host(self, change: Change) -> Iterable[Key]:
        claim = (change.document.get("spec") or {}).get("claim") or {}
        namespace = change.document["metadata"]["namespace"]
        if claim.get("kind") == "HostMachine":
            yield Key(namespace, claim["name"])
            return
        old = ((change.old or {}).get("spec") or {}).get("claim") or {}
        if old.get("kind") == "HostMachine":
            yield Key(namespace, old["name"])
        was_free = is_free(change.old) and _labels(change.old) == _labels(change.new)
        if was_free or not is_free(change.new):
            return
        for machine in self._machines.list(namespace):
            if not (machine.get("status") or {}).get("host"):
                yield Key.of(machine)

    async def reconcile_normal(self, context: Context) -> Provisioned | Waiting:
        host = self._claims.of(claim_id(context))
        if context.object.spec.provider_id:
            return await self._provision(context, host)
        if host is None:
            try:
                host = await self._claims.take(self._request(context), self._now())
            except NoHost as reason:
                return _waiting(conditions.false(CLAIMED, "NoHost", str(reason)), "", NO_HOST_RETRY)
        try:
            return await self._boot(context, host)
        except HostFailure as failure:
            return await self._report_failure(context, host, failure)
        except BadBootData as error:
            condition = conditions.false(BOOTED, "BadBootData", str(error))
            return _waiting(condition, host.metadata.name, None)

    async def reconcile_delete(self, context: Context) -> Released | Waiting:
        cleaning = await self._claims.release_all(context.key.namespace, claim_id(context))
        self._steps.pop(context.uid, None)
        if not cleaning:
            return Released()
        message = f"Host {', '.join(cleaning)} is being cleaned"
        return Waiting(message=message, requeue_after=RETRY)

    def _now(self) -> float:
        return self._runtime.clock().timestamp()

    def _request(self, context: Context) -> Request:
        spec = context.object.spec
        claim = Claim(
            name=context.key.name,
            uid=claim_id(context),
            cluster=context.cluster.name,
            control_plane=context.control_plane,
        )
        return Request(context.key.namespace, claim, spec.host_selector, context.failure_domain, spec.architecture)

    async def _boot(self, context: Context, host: Host) -> Provisioned | Waiting:
        uid = claim_id(context)
        shell = await self._access.shell(host)
        progress = await remote.progress(shell, uid)
        if progress.state == "absent" and not _may_boot(context, host):
            return await self._check_host(context, host, shell)
        if progress.state in ("absent", "stopped"):
            steps = await self._boot_steps(context, host)
            packed = archive(steps) if progress.state == "absent" else b""
            try:
                await remote.start_boot(shell, uid, packed)
            except HostFailure as failure:
                has_begun = failure.reason != BROKEN or (await remote.progress(shell, uid)).state != "absent"
                return await self._report_failure(context, host, failure, has_begun=has_begun)
            progress = await remote.progress(shell, uid)
        if progress.state == "finished":
            return await self._finish_boot(context, host, shell)
        names = self._steps.get(context.uid)
        if names is None:
            names = step_names(await self._boot_steps(context, host))
        entry = names.get(progress.step, progress.step)
        if progress.state == "failed":
            how = "was interrupted" if progress.code == "interrupted" else "failed"
            message = f"{entry} {how} ({progress.code}): {progress.lines.strip()}"
            return _waiting(conditions.false(BOOTED, "Failed", message), host.metadata.name, None)
        message = f"running {entry or 'the first step'} (of {len(names)} steps)"
        return _waiting(conditions.false(BOOTED, "Running", message), host.metadata.name, POLL)

    async def _check_host(self, context: Context, host: Host, shell: Shell) -> Waiting:
        """Claim the host itself and check it, before anything is changed on it. That a boot may have
        begun is stored before it can, so that no lost answer gives one machine two hosts.
        """
        uid, ignored = claim_id(context), host.spec.ignored_checks
        owner = f"{context.key.namespace}/{context.key.name}"
        await remote.claim(shell, uid, await self._access.plane(), owner)
        observed = await remote.look(shell)
        problems = general_problems(observed, self._now(), ignored) + machine_problems(
            observed, context.object.spec, context.version, ignored, control_plane=context.control_plane
        )
        if not problems:
            condition = conditions.false(BOOTED, "Starting", "the host is checked")
            return _waiting(condition, host.metadata.name, START)
        await remote.unclaim(shell, uid)
        message = "; ".join(map(str, problems))
        return await self._passed_over(context, host, message)

    async def _passed_over(self, context: Context, host: Host, message: str) -> Waiting:
        self._claims.pass_over(claim_id(context), host, message, self._now())
        await self._claims.remove(self._claims.hosts.get(host.key) or host)
        text = f"Host {host.metadata.name} is passed over: {message}"
        self._events.warning(context.object, "HostPassedOver", text)
        return _waiting(conditions.false(CLAIMED, "PassedOver", text), None, timedelta(seconds=1))

    async def _report_failure(
        self, context: Context, host: Host, failure: HostFailure, *, has_begun: bool | None = None
    ) -> Waiting:
        """Report a failure of a host. If nothing was done on the host yet, its claim is released, and another host is
        claimed. has_begun: whether the boot may have begun; None if the status of the machine tells it.
        """
        if isinstance(failure, remote.HeldByAnother):
            return await self._passed_over(context, host, str(failure))
        name = host.metadata.name
        if not (_may_boot(context, host) if has_begun is None else has_begun):
            # Whether the host has stored the claim is unknown: it is cleaned before it is free.
            self._claims.pass_over(claim_id(context), host, str(failure), self._now())
            await self._claims.release(self._claims.hosts.get(host.key) or host)
            message = f"Host {name} is passed over: {failure}"
            condition = conditions.false(CLAIMED, failure.reason, message)
            return _waiting(condition, None, timedelta(seconds=1))
        condition = conditions.false(HOST_REACHABLE, failure.reason, str(failure))
        return _waiting(condition, name, RETRY)

    async def _boot_steps(self, context: Context, host: Host) -> Sequence[BootStep]:
        plan = await boot_plan(
            context.bootstrap_data,
            context.bootstrap_format,
            instance={"local_hostname": context.key.name, "instance_id": claim_id(context)},
            system=True,
        )
        if plan.ignored and context.uid not in self._steps:
            message = f"these sections of the boot data are not carried out: {plan.ignored}"
            self._events.warning(context.object, _DATA_IGNORED, message)
        facts = host.status.facts
        before = install_steps(
            context.object.spec.install, context.version, "" if facts is None else facts.architecture
        )
        steps: Sequence[BootStep] = boot_steps(plan, before)
        if context.control_plane:
            await self._endpoints.sync(context.cluster)
            steps = self._endpoints.with_kube_vip(context.cluster, steps, plan, context.version)
        self._steps[context.uid] = step_names(steps)
        return steps

    async def _finish_boot(self, context: Context, host: Host, shell: Shell) -> Provisioned:
        observed = await remote.look(shell)
        texts = observed["booted_addresses"].split() or observed.addresses
        self._steps.pop(context.uid, None)
        return self._answer(context, host, _addresses(context, host, texts), [])

    async def _provision(self, context: Context, host: Host | None) -> Provisioned | Waiting:
        pairs = [(address.type, address.address) for address in context.object.status.addresses]
        addresses = [Address(type_, text) for type_, text in pairs]  # type: ignore[arg-type]
        if host is None:
            message = "the Host of this machine is gone, or has another claim"
            lost = conditions.false(CLAIMED, "HostLost", message)
            return self._answer(context, None, addresses, [lost])
        if not addresses:  # a move drops the status
            try:
                return await self._finish_boot(context, host, await self._access.shell(host))
            except HostFailure as failure:
                return await self._report_failure(context, host, failure)
        return self._answer(context, host, addresses, [])

    def _answer(
        self, context: Context, host: Host | None, addresses: Sequence[Address], more: Sequence[Condition]
    ) -> Provisioned:
        by_type = {CLAIMED: conditions.true(CLAIMED, CLAIMED), BOOTED: conditions.true(BOOTED, BOOTED)}
        if host is not None:
            name = host.metadata.name
            by_type[CLAIMED] = conditions.true(CLAIMED, CLAIMED, f"Host {name}")
            reachable = conditions.get(host.status.conditions, REACHABLE)
            if reachable is not None and reachable.status != conditions.TRUE:
                condition = conditions.false(HOST_REACHABLE, reachable.reason, reachable.message)
                by_type[HOST_REACHABLE] = condition
            else:
                by_type[HOST_REACHABLE] = conditions.true(HOST_REACHABLE, REACHABLE)
        by_type |= {condition.type: condition for condition in more}
        return Provisioned(
            provider_id=f"{PREFIX}{claim_id(context)}",
            addresses=addresses,
            failure_domain="" if host is None else host.spec.failure_domain,
            conditions=list(by_type.values()),
            status={"host": None if host is None else host.metadata.name},
        )


def _may_boot(context: Context, host: Host) -> bool:
    """Return whether a boot of the machine on a host may have begun, as its status tells."""
    return context.object.status.host == host.metadata.name


def _labels(host: Document | None) -> object:
    return None if host is None else host["metadata"].get("labels")


def _waiting(condition: Condition, host: str | None, after: timedelta | None) -> Waiting:
    """Return the result of a reconcile that waits, with one condition. host: the name of the Host, None for none."""
    results = [condition]
    if condition.type != CLAIMED:
        results.insert(0, conditions.true(CLAIMED, CLAIMED, f"Host {host}"))
    return Waiting(message=condition.message, requeue_after=after, conditions=results, status={"host": host or None})


def _addresses(context: Context, host: Host, texts: Sequence[str]) -> list[Address]:
    """Return the addresses of a machine, that of the Host first if it is an IP address."""
    ips = [text for text in texts if _is_ip(text)]
    own = host.spec.address
    if _is_ip(own) and (own in ips or not ips):
        ips = [own, *(text for text in ips if text != own)]
    listed = [Address("InternalIP", text) for text in ips]
    return [*listed, Address("Hostname", context.key.name)]


def _is_ip(text: str) -> bool:
    try:
        return not ip_address(text).is_loopback
    except ValueError:
        return False
