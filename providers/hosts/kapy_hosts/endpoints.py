"""The endpoint of a cluster: given by the user, kube-vip on the control plane, or haproxy on a
Host of its own.

The backends of haproxy are the Hosts that control plane machines have claimed, so that they follow
from the Host objects, and a machine is one before its API server starts.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from kapy.sdk import (
    ClusterContext,
    ClusterProvisioned,
    Controller,
    Endpoint,
    FailureDomain,
    InfraClusterProvider,
    Key,
    Released,
    Runtime,
    Waiting,
)
from kapy.sdk.boot import BootPlan, WriteFile
from kapy.sdk.controllers import Change
from kapy.sdk.load_balancer import ControlPlaneLoadBalancer, Member
from kapy_hosts import remote
from kapy_hosts.access import Access
from kapy_hosts.boot_steps import MANIFESTS, BootStep, file_step
from kapy_hosts.claims import HostClaims, NoHost, Request
from kapy_hosts.kinds import Claim, Host, HostCluster, KubeVIP
from kapy_hosts.shell import HostFailure

RETRY: Final = timedelta(seconds=15)
API_PORT: Final = 6443
_INIT_FILE: Final = "/run/kubeadm/kubeadm.yaml"
_SUPER_ADMIN: Final = (1, 29)
"""Since this version only super-admin.conf has rights before `kubeadm init` has ended."""
_DROP_ADDRESS: Final = (
    "for one in $(getent ahosts {host} | awk '{{ print $1 }}' | sort -u); do ip -o address show to $one; done | "
    "awk '$4 ~ \"/(32|128)$\" {{ print $4, $2 }}' | "
    "while read -r address device; do ip address delete $address dev $device; done"
)
"""A killed kube-vip leaves its address to the host, whose own ones have another prefix length."""
_AT_RELEASE: Final = """\
line={line}
grep -qxF -- "$line" "$BOOT_UNDO" 2> /dev/null || printf '%s\\n' "$line" >> "$BOOT_UNDO"
"""
_HAPROXY: Final = """\
# Written by the provider of the cluster's hosts; changes are lost.
global
  maxconn 9000

defaults
  mode tcp
  option clitcpka
  option srvtcpka
  timeout connect 5s
  timeout client 10m
  timeout server 10m
  timeout tunnel 24h
  timeout check 5s
  retries 3
  option redispatch 1
  default-server inter 2s downinter 1s fastinter 1s rise 1 fall 3

frontend control-plane
  bind *:{port}
  default_backend kube-apiservers

backend kube-apiservers
  option httpchk GET /healthz
{servers}
"""

OfCluster = ClusterContext[HostCluster]


class Endpoints(ControlPlaneLoadBalancer[HostCluster]):
    """The endpoints of all clusters."""

    def __init__(self, runtime: Runtime, access: Access, claims: HostClaims) -> None:
        self._runtime = runtime
        self._access = access
        self._claims = claims
        self._clusters = runtime.cache.informer(HostCluster)
        self._clusters.add_index("hosts/owner", _owner_index)
        self._locks: dict[Key, asyncio.Lock] = {}
        self._served: dict[str, str] = {}
        self._drained: set[tuple[Key, str]] = set()

    async def endpoint(self, context: OfCluster) -> Endpoint | Waiting:
        haproxy = context.object.spec.haproxy
        if haproxy is None:
            if context.endpoint is None:
                return Waiting(
                    message="spec.controlPlaneEndpoint is not set: give the address of the API "
                    "server, or set spec.haproxy",
                    requeue_after=None,
                )
            return context.endpoint
        host = self._claims.of(context.uid) or self._balancer(context.cluster)
        try:
            host = host or await self._take(context)
            shell = await self._access.shell(host)
            claim = host.spec.claim
            assert claim is not None
            await remote.claim(shell, claim.uid, await self._access.plane(), str(context.key))
            await self._serve(context.cluster, host, haproxy.port)
        except NoHost as reason:
            return Waiting(message=f"haproxy: {reason}", requeue_after=RETRY)
        except HostFailure as failure:
            return Waiting(message=f"haproxy: {failure}", requeue_after=RETRY)
        return context.endpoint or Endpoint(host.spec.address, haproxy.port)

    async def register(self, member: Member) -> Waiting | None:
        return await self._set_drained(member, drained=False)

    async def drain(self, member: Member) -> Waiting | None:
        return await self._set_drained(member, drained=True)

    async def deregister(self, member: Member) -> Waiting | None:
        waiting = await self._set_drained(member, drained=True)
        self._drained.discard((member.cluster, member.key.name))
        return waiting

    async def sync(self, cluster: Key) -> None:
        """Let haproxy know all control plane machines of a Cluster. Raises HostFailure."""
        host_cluster = next(iter(self._clusters.list_by_index("hosts/owner", str(cluster))), None)
        host = self._balancer(cluster)
        if host_cluster is not None and host_cluster.spec.haproxy is not None and host is not None:
            await self._serve(cluster, host, host_cluster.spec.haproxy.port)

    async def release(self, context: OfCluster) -> Released | Waiting:
        """Give back the Host of a load balancer."""
        claimed = self._balancer(context.cluster)
        uid = context.uid if claimed is None or not claimed.spec.claim else claimed.spec.claim.uid
        if cleaning := await self._claims.release_all(context.key.namespace, uid):
            return Waiting(message=f"Host {', '.join(cleaning)} is being cleaned", requeue_after=RETRY)
        self._served.pop(uid, None)
        return Released()

    def with_kube_vip(
        self, cluster: Key, steps: Sequence[BootStep], plan: BootPlan, version: str
    ) -> Sequence[BootStep]:
        """Return the steps of a control plane machine with the static Pod of kube-vip."""
        host_cluster = next(iter(self._clusters.list_by_index("hosts/owner", str(cluster))), None)
        if host_cluster is None or host_cluster.spec.kube_vip is None:
            return steps
        first = any(isinstance(step, WriteFile) and step.path == _INIT_FILE for step in plan.steps)
        endpoint = host_cluster.spec.control_plane_endpoint
        own = kube_vip_steps(host_cluster.spec.kube_vip, endpoint.host, endpoint.port, version, first=first)
        # `kubeadm join` refuses a folder that has files; `kubeadm init` needs the address.
        return [*own, *steps] if first else [*steps, *own]

    def _balancer(self, cluster: Key) -> Host | None:
        hosts = self._claims.of_cluster(cluster)
        return next((host for host in hosts if host.spec.claim and host.spec.claim.kind == "HostCluster"), None)

    async def _take(self, context: OfCluster) -> Host:
        haproxy = context.object.spec.haproxy
        assert haproxy is not None
        claim = Claim(kind="HostCluster", name=context.key.name, uid=context.uid, cluster=context.cluster.name)
        request = Request(context.key.namespace, claim, haproxy.host_selector)
        return await self._claims.take(request, self._runtime.clock().timestamp())

    async def _set_drained(self, member: Member, *, drained: bool) -> Waiting | None:
        entry = (member.cluster, member.key.name)
        (self._drained.add if drained else self._drained.discard)(entry)
        try:
            await self.sync(member.cluster)
        except HostFailure as failure:
            if drained:
                return None  # a machine is deleted even if its load balancer does not answer
            return Waiting(message=f"haproxy: {failure}", requeue_after=RETRY)
        return None

    async def _serve(self, cluster: Key, host: Host, port: int) -> None:
        claim = host.spec.claim
        assert claim is not None
        async with self._locks.setdefault(cluster, asyncio.Lock()):
            text = haproxy_config(self._backends(cluster), port)
            if self._served.get(claim.uid) == text:
                return
            shell = await self._access.shell(host)
            await remote.serve_haproxy(shell, claim.uid, text)
            self._served[claim.uid] = text

    def _backends(self, cluster: Key) -> list[tuple[str, str]]:
        """Return names and addresses of the control plane machines; of drained ones only if there
        are no others.
        """
        every = [
            (host.spec.claim.name, host.spec.address)
            for host in self._claims.of_cluster(cluster)
            if host.spec.claim and host.spec.claim.control_plane
        ]
        serving = [backend for backend in every if (cluster, backend[0]) not in self._drained]
        return sorted(serving or every)


class Clusters(InfraClusterProvider[HostCluster]):
    """The infrastructure of clusters: an endpoint, and failure domains of the Hosts."""

    def __init__(self, claims: HostClaims, endpoints: Endpoints) -> None:
        self._claims = claims
        self._endpoints = endpoints

    def wake(self, controller: Controller, runtime: Runtime) -> None:
        """Enqueue clusters when the Hosts of their machines change, all of them when a failure domain may come or go,
        and those without endpoint."""
        clusters = runtime.cache.informer(HostCluster.RESOURCE)

        def of_host(change: Change) -> Iterable[Key]:
            namespace = change.document["metadata"]["namespace"]
            names = {_cluster_name(change.old), _cluster_name(change.new)} - {""}
            every = _failure_domain(change.old) != _failure_domain(change.new)
            for cluster in clusters.list(namespace):
                owners = cluster["metadata"].get("ownerReferences") or ()
                waits = not ((cluster.get("status") or {}).get("initialization") or {}).get("provisioned")
                if every or waits or any(owner["name"] in names for owner in owners):
                    yield Key.of(cluster)

        controller.watch(self._claims.hosts, of_host)

    async def reconcile_normal(self, context: OfCluster) -> ClusterProvisioned | Waiting:
        domains = sorted(
            {
                host.spec.failure_domain
                for host in self._claims.hosts.list(context.key.namespace)
                if host.spec.failure_domain
            }
        )
        return ClusterProvisioned(
            endpoint=context.endpoint,
            failure_domains=[FailureDomain(name=domain, control_plane=True) for domain in domains],
        )

    async def reconcile_delete(self, context: OfCluster) -> Released | Waiting:
        return await self._endpoints.release(context)


def haproxy_config(backends: Iterable[tuple[str, str]], port: int) -> str:
    """Return the configuration of haproxy. backends: names and addresses of the API servers."""
    servers = [
        f"  server {name} {f'[{address}]' if ':' in address else address}:{API_PORT} check check-ssl verify none"
        for name, address in backends
    ]
    return _HAPROXY.format(port=port, servers="\n".join(servers))


def kube_vip_steps(settings: KubeVIP, address: str, port: int, version: str, *, first: bool) -> list[BootStep]:
    """Return the steps that have a host run kube-vip. first: whether the machine runs `kubeadm init`."""
    line = _DROP_ADDRESS.format(host=shlex.quote(address))
    text = kube_vip_pod(settings, address, port, version, first=first)
    return [
        BootStep("the address of kube-vip", _AT_RELEASE.format(line=shlex.quote(line)), again=True),
        file_step(f"{MANIFESTS}kube-vip.yaml", text, "kube-vip", mode=0o600),
    ]


def kube_vip_pod(settings: KubeVIP, address: str, port: int, version: str, *, first: bool) -> str:
    """Return the manifest of kube-vip with ARP and leader election, in JSON, which is also YAML. first: whether the
    machine runs `kubeadm init`.
    """
    numbers = tuple(int(part) for part in version.removeprefix("v").split(".")[:2] if part.isdigit())
    admin = "super-admin" if first and (not numbers or numbers >= _SUPER_ADMIN) else "admin"
    environment = {
        "vip_arp": "true",
        "port": str(port or API_PORT),
        "vip_interface": settings.interface,
        "vip_subnet": "128" if ":" in address else "32",
        "cp_enable": "true",
        "cp_namespace": "kube-system",
        "vip_leaderelection": "true",
        "vip_leaseduration": "15",
        "vip_renewdeadline": "10",
        "vip_retryperiod": "2",
        "address": address,
    }
    # Nodes are told apart by their names: several hosts may have the same one.
    node = {"name": "vip_nodename", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container = {
        "name": "kube-vip",
        "image": settings.image,
        "imagePullPolicy": "IfNotPresent",
        "args": ["manager"],
        "env": [node, *({"name": name, "value": value} for name, value in environment.items() if value)],
        "securityContext": {"capabilities": {"add": ["NET_ADMIN", "NET_RAW"], "drop": ["ALL"]}},
        "volumeMounts": [{"name": "kubeconfig", "mountPath": "/etc/kubernetes/admin.conf"}],
    }
    path = {"path": f"/etc/kubernetes/{admin}.conf", "type": "FileOrCreate"}
    spec = {
        "containers": [container],
        "hostAliases": [{"hostnames": ["kubernetes"], "ip": "127.0.0.1"}],
        "hostNetwork": True,
        "volumes": [{"name": "kubeconfig", "hostPath": path}],
    }
    metadata = {"name": "kube-vip", "namespace": "kube-system"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    return json.dumps(pod, indent=2) + "\n"


def _owner_index(document: dict[str, object]) -> Iterable[str]:
    metadata = document["metadata"]
    assert isinstance(metadata, dict)
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("kind") == "Cluster":
            yield str(Key(metadata["namespace"], owner["name"]))


def _failure_domain(document: dict[str, object] | None) -> object:
    spec = (document or {}).get("spec")
    return spec.get("failureDomain", "") if isinstance(spec, dict) else ""


def _cluster_name(document: dict[str, object] | None) -> str:
    spec = (document or {}).get("spec")
    claim = spec.get("claim") if isinstance(spec, dict) else None
    return str(claim.get("cluster", "")) if isinstance(claim, dict) else ""
