"""Upstream's specs by short names: the pattern that selects each, and where it runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

Machines = Literal["memory", "containers"]


@dataclass(frozen=True, slots=True)
class Spec:
    """One spec. focus: a pattern of Ginkgo's that selects it alone. machines: in memory, or in
    containers. managers: whether they run as Pods of a cluster of containers. old: the minor
    version of upstream that a management cluster begins with. autoscaler: whether it needs the
    cluster autoscaler. conformance: whether it runs Kubernetes' own tests. dual_stack: whether
    nodes have IPv6, too."""

    focus: str
    machines: Machines = "memory"
    managers: bool = False
    old: str = ""
    autoscaler: bool = False
    conformance: bool = False
    dual_stack: bool = False

    @property
    def is_apart(self) -> bool:
        """Whether it runs in namespaces of its own."""
        return self.machines == "containers" or bool(self.old)


def _tested(focus: str, *, dual_stack: bool = False) -> Spec:
    return Spec(focus, machines="containers", conformance=True, dual_stack=dual_stack)


SPECS: Final = {
    "quick-start": Spec("quick-start Should"),
    "quick-start-class": Spec("quick-start with ClusterClass .PR-Blocking"),
    "quick-start-v1beta1": Spec("quick-start with v1beta1 ClusterClass"),
    "quick-start-ipv6": Spec("quick-start with IPv6"),
    "quick-start-ignition": Spec("quick-start with Ignition"),
    "quick-start-ipv4-primary": _tested("dualstack and ipv4 primary", dual_stack=True),
    "quick-start-ipv6-primary": _tested("dualstack and ipv6 primary", dual_stack=True),
    "quick-start-no-workers": Spec("without any worker definitions"),
    "class-changes": Spec("ClusterClass changes"),
    "class-rollout": Spec("ClusterClass rollouts"),
    "upgrade": Spec("upgrading .* using ClusterClass .ClusterClass. Should"),
    "upgrade-ha": Spec("with a HA control plane .ClusterClass. Should create and upgrade"),
    "upgrade-scale-in": Spec("using scale-in rollout"),
    "upgrade-conformance": _tested("and testing K8S conformance"),
    "upgrade-runtimesdk": Spec("upgrading .* using ClusterClass with RuntimeSDK"),
    "upgrade-namespaces": Spec("upgrading .* using ClusterClass in a different NS"),
    "upgrade-chained": Spec("performing chained upgrades"),
    "in-place": Spec("in-place updating"),
    "deletion": Spec("cluster deletion"),
    "scale": Spec("machinery for scale testing"),
    "workers-scale": Spec("MachineDeployment scale out/in"),
    "workers-remediation": Spec("MachineDeployment remediation"),
    "rollout-taints": Spec("KCP and MachineDeployment rolling upgrades"),
    "control-plane-adoption": Spec("KCP adoption"),
    "infrastructure-adoption": Spec("KCP infra adoption", machines="containers"),
    "control-plane-remediation": Spec("KCP remediation"),
    "machine-pool": Spec("MachinePools"),
    "node-drain": Spec("Node drain"),
    "autoscaler": Spec("autoscaler", autoscaler=True),
    "join-old-nodes": Spec("kubeadm with an older version", machines="containers"),
    "clusterctl-upgrade-1.11": Spec("v1.11=>current", old="v1.11"),
    "clusterctl-upgrade-1.12": Spec("v1.12=>current", old="v1.12"),
    "clusterctl-upgrade-1.13": Spec(
        "v1.13=>current. .ClusterClass", machines="containers", managers=True, old="v1.13"
    ),
    "clusterctl-upgrade-latest": Spec("on K8S latest ci mgmt cluster", old="v1.13"),
    "self-hosted": Spec(
        "working on self-hosted clusters using ClusterClass .ClusterClass",
        machines="containers",
        managers=True,
    ),
    "self-hosted-ha": Spec(
        "self-hosted clusters using ClusterClass with a HA", machines="containers", managers=True
    ),
    "self-hosted-single": Spec("single-node self-hosted", machines="containers", managers=True),
    "conformance": _tested("testing K8S conformance .Conformance. .K8s-Install. "),
    "conformance-latest": _tested("K8S conformance with K8S latest ci"),
}


def runnable(machines: Machines = "memory") -> list[str]:
    """The specs that planes with machines of that kind are enough for."""
    specs = {name: spec for name, spec in SPECS.items() if spec.machines == machines}
    return [name for name, spec in specs.items() if not (spec.old or spec.autoscaler)]
