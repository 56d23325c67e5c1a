"""The kinds of infrastructure in v1beta1."""

from typing import Annotated, Any, Final

from kapy.api import (
    dev_cluster,
    dev_machine,
    docker_cluster,
    docker_machine,
    docker_machine_pool,
    infrastructure,
)
from kapy.api.embedded import FailureDomain
from kapy.api.older.difference import Change, Difference, added, removed, retyped
from kapy.api.v1beta1.embedded import CONDITIONS, V1Beta2
from kapy.kube.model import rules

_READY: Final[dict[str, Any]] = {
    "ready": Annotated[
        bool,
        rules(
            "ready is true after the infrastructure has been provisioned for the first time.",
            zero="written",
        ),
    ]
}
_DOMAINS: Final = retyped(failure_domains=dict[str, FailureDomain])
_PROVIDER_ID: Final = retyped(provider_id=str | None)
_MACHINE_STATUS: Final[tuple[Change, ...]] = (
    removed("initialization", "failure_domain", "deprecated"),
    retyped(**CONDITIONS),
    added(**_READY, v1beta2=V1Beta2),
)

DIFFERENCES: Final = (
    Difference(
        dev_cluster.InfraClusterStatus,
        removed("initialization", "deprecated"),
        retyped(**CONDITIONS),
        _DOMAINS,
        added(**_READY, v1beta2=V1Beta2),
    ),
    Difference(infrastructure.DockerLoadBalancer),
    Difference(dev_cluster.DockerClusterBackendSpec, _DOMAINS),
    Difference(docker_cluster.DockerClusterSpec, _DOMAINS),
    Difference(dev_machine.DevMachineSpec, _PROVIDER_ID),
    Difference(dev_machine.DevMachineStatus, *_MACHINE_STATUS),
    Difference(dev_machine.DevMachineTemplate, removed("status")),
    Difference(docker_machine.DockerMachineSpec, _PROVIDER_ID),
    Difference(docker_machine.DockerMachineStatus, *_MACHINE_STATUS),
    Difference(docker_machine.DockerMachineTemplate, removed("status")),
    Difference(
        docker_machine_pool.DockerMachinePoolStatus, removed("deprecated"), retyped(**CONDITIONS)
    ),
)
