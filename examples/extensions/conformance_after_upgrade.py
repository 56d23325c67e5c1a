"""Starts conformance tests after an upgrade; the Cluster's condition `Conformant` has their result.

The tests are those of this file: every Node is ready, and as new as the Cluster. A Cluster that
names the condition in `spec.availabilityGates` is Available only when they passed.
"""

from collections.abc import Sequence
from time import gmtime, strftime

from kapy.client.client import Client
from kapy.hooks import (
    AFTER_CLUSTER_UPGRADE,
    AfterClusterUpgradeRequest,
    Extension,
    RetryResponse,
)
from kapy.hooks.clusters import management_cluster, workload_cluster
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.kube.names import NODES, Resource

CLUSTERS = Resource("cluster.x-k8s.io", "v1beta2", "clusters", "Cluster")
CONDITION = "Conformant"

extension = Extension()


@extension.handles(AFTER_CLUSTER_UPGRADE, name="conformance", timeout_seconds=30)
async def conformance(request: AfterClusterUpgradeRequest) -> RetryResponse:
    """The next upgrade waits until the tests are through. What runs stands in the condition, so
    replicas of this extension need no memory."""
    cluster, version = Key.of(request.cluster), request.kubernetes_version
    async with management_cluster() as management:
        condition = condition_of(await management.get(CLUSTERS, cluster))
        if condition.get("message") != version or condition["status"] != "Unknown":
            await tell(management, cluster, "Unknown", "TestsRun", version)
            return RetryResponse.wait(1, f"conformance tests of {version} run")
        try:
            async with workload_cluster(management, cluster) as workload:
                failures = failed((await workload.list(NODES)).items, version)
        except KapyError as error:
            failures = [str(error)]
        passed = ("False", "TestsFailed") if failures else ("True", "TestsPassed")
        await tell(management, cluster, *passed, "; ".join(failures))
    return RetryResponse()


def condition_of(cluster: Document) -> Document:
    conditions = cluster.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == CONDITION), {})


async def tell(management: Client, cluster: Key, status: str, reason: str, message: str) -> None:
    condition = {
        "type": CONDITION,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": strftime("%Y-%m-%dT%H:%M:%SZ", gmtime()),
    }
    document = {
        "apiVersion": CLUSTERS.api_version,
        "kind": CLUSTERS.kind,
        "metadata": {"name": cluster.name, "namespace": cluster.namespace},
        "status": {"conditions": [condition]},
    }
    await management.apply(CLUSTERS, document, field_manager="conformance", subresource="status")


def failed(nodes: Sequence[Document], version: str) -> list[str]:
    """What is wrong with the Nodes."""
    problems = [] if nodes else ["there are no Nodes"]
    for node in nodes:
        name, status = node["metadata"]["name"], node["status"]
        if not any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in status["conditions"]
        ):
            problems.append(f"{name} is not ready")
        if status["nodeInfo"]["kubeletVersion"] != version:
            problems.append(f"{name} is at {status['nodeInfo']['kubeletVersion']}, not {version}")
    return problems
