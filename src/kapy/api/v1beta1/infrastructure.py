"""The kinds of infrastructure in v1beta1."""

from typing import Annotated, Final

from kapy.api import (
    dev_cluster,
    dev_machine,
    docker_cluster,
    docker_machine,
    docker_machine_pool,
    infrastructure,
)
from kapy.api.older.difference import Difference, Row
from kapy.api.older.rows import remove, restore, retype
from kapy.api.older.status import conditions, milestones
from kapy.api.v1beta1.embedded import FAILURE_DOMAINS, V1Beta2
from kapy.kube.model import rules

_PROVISIONED: Final = milestones(
    ready=(
        "provisioned",
        Annotated[
            bool,
            rules(
                "ready is true after the infrastructure has been provisioned for the first time.",
                zero="written",
            ),
        ],
    )
)
_PROVIDER_ID: Final = retype(provider_id=str | None)
_STATUS: Final[tuple[Row, ...]] = (conditions(V1Beta2), _PROVISIONED)
_MACHINE_STATUS: Final[tuple[Row, ...]] = (remove("failure_domain"), *_STATUS)

DIFFERENCES: Final = (
    Difference(dev_cluster.InfraClusterStatus, *FAILURE_DOMAINS, *_STATUS),
    Difference(infrastructure.DockerLoadBalancer),
    Difference(dev_cluster.DockerClusterBackendSpec, *FAILURE_DOMAINS),
    Difference(docker_cluster.DockerClusterSpec, *FAILURE_DOMAINS),
    Difference(dev_machine.DevMachineSpec, _PROVIDER_ID),
    Difference(dev_machine.DevMachineStatus, *_MACHINE_STATUS),
    Difference(dev_machine.DevMachineTemplate, remove("status")),
    Difference(docker_machine.DockerMachineSpec, _PROVIDER_ID),
    Difference(docker_machine.DockerMachineStatus, *_MACHINE_STATUS),
    Difference(docker_machine.DockerMachineTemplate, remove("status")),
    Difference(
        docker_machine_pool.DockerMachinePoolStatus, conditions(None), restore("conditions")
    ),
)
