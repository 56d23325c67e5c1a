"""A provider with an API group of its own gives core its rights with an aggregated ClusterRole."""

from __future__ import annotations

from typing import Final

from kapy.api.cluster import Cluster
from kapy.contract.external import AGGREGATE_TO_MANAGER
from kapy.kube import Document
from kapy.kube.http import User
from kapy.kube.names import Resource
from tests.providers.scripted.dialects import BIRCH
from tests.providers.scripted.plane import plane
from tests.providers.scripted.test_lives import condition, objects

RBAC: Final = "rbac.authorization.k8s.io"
ROLES: Final = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
BINDINGS: Final = Resource(
    RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)
CORE: Final = User("core", ("system:authenticated",))
LABELS: Final = {AGGREGATE_TO_MANAGER: "true"}


def role(name: str, *groups: str, **parts: Document) -> Document:
    rules = [{"apiGroups": list(groups), "resources": ["*"], "verbs": ["*"]}] if groups else []
    metadata = {"name": name, "labels": LABELS if groups else {}}
    results = {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata}
    return {**results, "rules": rules, **parts}


def manager() -> tuple[Document, Document]:
    """The role of core, which has the rules of all that are labelled for it; and who has it."""
    selectors = {"clusterRoleSelectors": [{"matchLabels": LABELS}]}
    subject = {"kind": "User", "name": CORE.name, "apiGroup": RBAC}
    binding = {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "manager"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "manager"},
        "subjects": [subject],
    }
    return role("manager", aggregationRule=selectors), binding


async def test_a_custom_group_is_read_once_core_may_read_it() -> None:
    suffix = "cluster.x-k8s.io"
    usual = [f"{item}.{suffix}" for item in ("infrastructure", "bootstrap", "controlplane", "ipam")]
    usual += [suffix, f"addons.{suffix}", f"runtime.{suffix}", "apiextensions.k8s.io", ""]
    async with plane(BIRCH, user=CORE) as at:
        aggregated, binding = manager()
        await at.client.create(ROLES, aggregated)
        await at.client.create(BINDINGS, binding)
        await at.client.create(ROLES, role("kapy", *usual))
        await at.story.create(objects(BIRCH, "birch"))
        await at.story.settle(5)
        cluster = await at.story.get(Cluster, "birch")
        assert cluster is not None
        result = condition(cluster, "InfrastructureReady")
        assert result.status == "Unknown"
        kind = f"BirchCluster.{BIRCH.clusters.group}"
        assert result.message.startswith(f"{kind} may not be read by core: ")
        assert result.message.endswith(f'has the label {AGGREGATE_TO_MANAGER}: "true"')

        groups = {resource.group for resource in BIRCH.resources}
        await at.client.create(ROLES, role("birch", *sorted(groups)))
        cluster = await at.story.until(Cluster, "birch", _is_provisioned)
        assert condition(cluster, "InfrastructureReady").status == "True"


def _is_provisioned(cluster: Cluster) -> bool:
    return bool(cluster.status.initialization.infrastructure_provisioned)
