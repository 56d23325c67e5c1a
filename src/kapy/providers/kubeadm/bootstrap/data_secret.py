"""The Secret that passes a machine's boot data to the infrastructure provider."""

from __future__ import annotations

from typing import Final

from kapy.providers.kubeadm.bootstrap.scope import Scope
from kapy.sdk import BootstrapData

CLOUD_CONFIG: Final = "cloud-config"
IGNITION: Final = "ignition"


async def store(scope: Scope, data: str) -> None:
    """Write the boot data Secret, and report it in the KubeadmConfig.

    The Secret may exist from an attempt that failed before the report.
    """
    config = scope.config
    bootstrap_data = BootstrapData(value=data.encode(), format=config.spec.format or CLOUD_CONFIG)
    await scope.dependencies.data_secrets.store(
        config, scope.cluster.key, bootstrap_data, renew=True
    )
    available(scope, config.metadata.name)


def available(scope: Scope, name: str) -> None:
    """Report the Secret in the KubeadmConfig's status."""
    status = scope.config.status
    status.data_secret_name = name
    status.initialization.data_secret_created = True
    scope.data_available()
