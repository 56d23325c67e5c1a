"""The variable `builtin` as extensions read it (`topologymutation_variable_types.go`).

Every field may be absent: the known values depend on the template and on the progress of the
cluster.
"""

from __future__ import annotations

import msgspec
from msgspec import field

from kapy.kube.model import Model


class MetadataBuiltins(Model):
    """The labels and annotations of an object, in the builtin variables of patches."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class NamedBuiltins(Model):
    """A reference to an object by name, in the builtin variables of patches."""

    name: str = ""


class ClassRefBuiltins(Model):
    """The ClusterClass of a cluster."""

    name: str = ""
    namespace: str = ""


class TopologyBuiltins(Model):
    """The topology of the Cluster: `version` may be ahead of control plane and workers."""

    version: str = ""
    class_ref: ClassRefBuiltins = field(default_factory=ClassRefBuiltins)


class NetworkBuiltins(Model):
    """The networks of a cluster."""

    service_domain: str | None = None
    services: list[str] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)


class ClusterBuiltins(Model):
    """The builtin variables about the Cluster, for patches."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    metadata: MetadataBuiltins = field(default_factory=MetadataBuiltins)
    topology: TopologyBuiltins = field(default_factory=TopologyBuiltins)
    network: NetworkBuiltins = field(default_factory=NetworkBuiltins)


class MachineTemplateBuiltins(Model):
    """The machines of a control plane."""

    infrastructure_ref: NamedBuiltins = field(default_factory=NamedBuiltins)


class ControlPlaneBuiltins(Model):
    """The control plane; `version` is its target version."""

    version: str = ""
    name: str = ""
    replicas: int | None = None
    metadata: MetadataBuiltins = field(default_factory=MetadataBuiltins)
    machine_template: MachineTemplateBuiltins = field(default_factory=MachineTemplateBuiltins)


class BootstrapBuiltins(Model):
    """The bootstrap configuration of workers."""

    config_ref: NamedBuiltins = field(default_factory=NamedBuiltins)


class WorkersBuiltins(Model):
    """A MachineDeployment or MachinePool; `version` is its target version."""

    version: str = ""
    class_: str = msgspec.field(default="", name="class")
    name: str = ""
    topology_name: str = ""
    replicas: int | None = None
    metadata: MetadataBuiltins = field(default_factory=MetadataBuiltins)
    bootstrap: BootstrapBuiltins = field(default_factory=BootstrapBuiltins)
    infrastructure_ref: NamedBuiltins = field(default_factory=NamedBuiltins)


class Builtins(Model):
    """All builtin variables; control plane or workers are set for their own templates only."""

    cluster: ClusterBuiltins = field(default_factory=ClusterBuiltins)
    control_plane: ControlPlaneBuiltins | None = None
    machine_deployment: WorkersBuiltins | None = None
    machine_pool: WorkersBuiltins | None = None
