"""Claims of Hosts: they decide which machine gets which Host.

The Host object is written first, with its resource version, so that one of two writers wins. Then the file on the host
decides between management clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kapy.sdk import Document, Key, Runtime, conditions
from kapy_hosts.kinds import Claim, Host, HostSelector

AVAILABLE: Final = "Available"
CLEAN: Final = "Clean"
FINALIZER: Final = "hosts.cluster.x-k8s.io/claim"
BY_CLAIM: Final = "hosts/claim"
BY_CLUSTER: Final = "hosts/cluster"
_MOST_REASONS: Final = 8
_PASSED_OVER: Final = 60.0
"""Seconds for which a machine does not try a host again."""


@dataclass(frozen=True, slots=True)
class Request:
    """A claim, and the properties that its Host must have."""

    namespace: str
    claim: Claim
    selector: HostSelector | None = None
    failure_domain: str = ""
    architecture: str = ""


class NoHost(Exception):
    """No Host can be claimed now. The message gives the reason for each Host."""


@dataclass
class HostClaims:
    """The claims of Hosts in a management cluster. passed: why a claim passed over a Host, and until when, by claim and
    Host.
    """

    runtime: Runtime
    passed: dict[tuple[str, Key], tuple[str, float]] = field(default_factory=dict)
    _taking: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.hosts = self.runtime.cache.informer(Host)
        self.hosts.add_index(BY_CLAIM, _claim_index)
        self.hosts.add_index(BY_CLUSTER, _cluster_index)

    def of(self, uid: str) -> Host | None:
        """Return the claimed Host that is not released, None if there is none."""
        hosts = self.hosts.list_by_index(BY_CLAIM, uid)
        return next((host for host in hosts if host.spec.claim and not host.spec.claim.released), None)

    async def every(self, namespace: str, uid: str) -> Sequence[Host]:
        """Return all Hosts of a claim from the API server, including released ones."""
        current = (await self.runtime.client.list(Host, namespace)).items
        return [host for host in current if host.spec.claim and host.spec.claim.uid == uid]

    def of_cluster(self, cluster: Key) -> Sequence[Host]:
        """Return the Hosts that a Cluster uses."""
        hosts = self.hosts.list_by_index(BY_CLUSTER, str(cluster))
        return [host for host in hosts if host.spec.claim and not host.spec.claim.released]

    async def take(self, request: Request, now: float) -> Host:
        """Claim a suitable Host for a machine. Raises NoHost, Conflict."""
        self._suitable(self.hosts.list(request.namespace), request, now)
        # The cache may lack a claim whose response was lost: do not claim a second Host.
        current = (await self.runtime.client.list(Host, request.namespace)).items
        mine = [host for host in current if _is_of(host, request.claim.uid)]
        if mine:
            return mine[0]
        host = self._suitable(current, request, now)[0]
        self._taking.add(host.key)
        try:
            return await self._write(host, request.claim, [*_others(host), FINALIZER])
        finally:
            self._taking.discard(host.key)

    def pass_over(self, uid: str, host: Host, reason: str, now: float) -> None:
        """Remember why a claim does not use a Host."""
        for key in [key for key, (_, until) in self.passed.items() if until <= now]:
            del self.passed[key]
        self.passed[uid, host.key] = reason, now + _PASSED_OVER

    async def release(self, host: Host) -> Host:
        """Record that the object of a claim is gone: the Host is cleaned before anybody else gets
        it.
        """
        assert host.spec.claim is not None
        if host.spec.claim.released:
            return host
        document = {"metadata": _version(host), "spec": {"claim": {"released": True}}}
        return await self.runtime.client.patch(Host, host.key, document)

    async def release_all(self, namespace: str, uid: str) -> list[str]:
        """Release all Hosts of a claim; return the names of those that are being cleaned. A Host
        that cannot be cleaned now stays in quarantine, and is cleaned when that is possible.
        """
        cleaning = []
        for host in await self.every(namespace, uid):
            after = await self.release(host)
            clean = conditions.get(after.status.conditions, CLEAN)
            if clean is None or clean.status == conditions.TRUE:
                cleaning.append(host.metadata.name)
        return cleaning

    async def remove(self, host: Host) -> Host:
        """Remove the claim of a clean Host."""
        return await self._write(host, None, _others(host))

    async def _write(self, host: Host, claim: Claim | None, finalizers: list[str]) -> Host:
        claim_document: Document | None = None
        if claim is not None:
            claim_document = {
                "kind": claim.kind,
                "name": claim.name,
                "uid": claim.uid,
                "cluster": claim.cluster,
                "controlPlane": claim.control_plane,
            }
        document = {"metadata": {**_version(host), "finalizers": finalizers}, "spec": {"claim": claim_document}}
        return await self.runtime.client.patch(Host, host.key, document)

    def _suitable(self, hosts: Iterable[Host], request: Request, now: float) -> list[Host]:
        """Return the Hosts that can be claimed, by name. Raises NoHost."""
        suitable, reasons = [], []
        for host in sorted(hosts, key=lambda host: host.key):
            reason, until = self.passed.get((request.claim.uid, host.key), ("", 0.0))
            reason = unfit(host, request) or (reason if until > now else "")
            if not reason and host.key in self._taking:
                reason = "is being claimed"
            if reason:
                reasons.append(f"{host.metadata.name}: {reason}")
            else:
                suitable.append(host)
        if suitable:
            return suitable
        if not reasons:
            raise NoHost(f"namespace {request.namespace} has no Host; add one: kapy hosts add")
        omitted = len(reasons) - _MOST_REASONS
        more = f"; and {omitted} more" if omitted > 0 else ""
        raise NoHost(f"no Host can be claimed: {'; '.join(reasons[:_MOST_REASONS])}{more}")


def unfit(host: Host, request: Request) -> str:
    """Return why a Host cannot be claimed by its object, "" if it can."""
    spec = host.spec
    if spec.claim is not None:
        return f"is in use by {spec.claim.name}"
    if spec.unschedulable or host.deleting:
        return "is unschedulable" if spec.unschedulable else "is being deleted"
    if not _selects(request.selector, host.metadata.labels):
        return "has other labels"
    if request.failure_domain and spec.failure_domain != request.failure_domain:
        return f"is in failure domain {spec.failure_domain or 'none'}"
    available = conditions.get(host.status.conditions, AVAILABLE)
    if available is None:
        return "was not looked at yet"
    if available.status != conditions.TRUE:
        return available.message or available.reason
    facts = host.status.facts
    if request.architecture and facts is not None and facts.architecture != request.architecture:
        return f"is {facts.architecture}"
    return ""


def is_free(host: Document | None) -> bool:
    """Return whether some machine may claim a Host."""
    if host is None or _claim_of(host):
        return False
    listed = (host.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == AVAILABLE and condition["status"] == conditions.TRUE for condition in listed)


def _selects(selector: HostSelector | None, labels: Mapping[str, str]) -> bool:
    wanted = {} if selector is None else selector.match_labels
    return all(labels.get(name) == value for name, value in wanted.items())


def _is_of(host: Host, uid: str) -> bool:
    claim = host.spec.claim
    return claim is not None and claim.uid == uid and not claim.released


def _others(host: Host) -> list[str]:
    return [finalizer for finalizer in host.metadata.finalizers if finalizer != FINALIZER]


def _version(host: Host) -> Document:
    return {"resourceVersion": host.metadata.resource_version}


def _claim_of(document: Document) -> Document:
    claim: Document = (document.get("spec") or {}).get("claim") or {}
    return claim


def _claim_index(document: Document) -> Iterable[str]:
    if uid := _claim_of(document).get("uid"):
        yield uid


def _cluster_index(document: Document) -> Iterable[str]:
    if cluster := _claim_of(document).get("cluster"):
        yield str(Key(document["metadata"]["namespace"], cluster))
