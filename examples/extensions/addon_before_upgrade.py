"""Installs an add-on into the workload cluster before it is upgraded, and waits until it is there.

The add-on is a ConfigMap here; `settings.image` is its image, with `{version}` for Kubernetes'.
"""

from kapy.hooks import (
    BEFORE_CLUSTER_UPGRADE,
    BeforeClusterUpgradeRequest,
    Extension,
    RetryResponse,
)
from kapy.hooks.clusters import management_cluster, workload_cluster
from kapy.kube import Key
from kapy.kube.errors import KapyError
from kapy.kube.names import CONFIG_MAPS

NAME = Key("kube-system", "cloud-agent")
RETRY_SECONDS = 20

extension = Extension()


@extension.handles(BEFORE_CLUSTER_UPGRADE, name="cloud-agent", timeout_seconds=20)
async def cloud_agent(request: BeforeClusterUpgradeRequest) -> RetryResponse:
    image = request.settings.get("image", "registry.example.com/cloud-agent:{version}")
    wanted = image.format(version=request.to_kubernetes_version)
    manifest = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": NAME.name, "namespace": NAME.namespace},
        "data": {"image": wanted},
    }
    try:
        async with (
            management_cluster() as management,
            workload_cluster(management, Key.of(request.cluster)) as workload,
        ):
            await workload.apply(CONFIG_MAPS, manifest)
    except KapyError as error:
        return RetryResponse.wait(RETRY_SECONDS, f"{NAME.name} cannot be installed yet: {error}")
    return RetryResponse()
