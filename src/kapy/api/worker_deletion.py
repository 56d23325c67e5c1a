"""Structs of Cluster and ClusterClass for the deletion of worker Machines."""

from typing import Annotated, ClassVar

from kapy.api.machine import NodeDeletionTimeout, NodeDrainTimeout, NodeVolumeDetachTimeout
from kapy.kube import Document
from kapy.kube.model import Model, rules


class WorkerDeletionSpec(Model):
    """WorkerDeletionSpec configures the deletion of worker Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    order: Annotated[
        str,
        rules(
            same_as="MachineSetDeletionSpec.order",
            enum=["Random", "Newest", "Oldest"],
        ),
    ] = ""
    node_drain_timeout_seconds: NodeDrainTimeout = None
    node_volume_detach_timeout_seconds: NodeVolumeDetachTimeout = None
    node_deletion_timeout_seconds: NodeDeletionTimeout = None
