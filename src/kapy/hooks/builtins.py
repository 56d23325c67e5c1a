"""The variable `builtin` as extensions read it (`topologymutation_variable_types.go`).

Everything may be absent: what is known depends on the template, and on how far a cluster is.
"""

from __future__ import annotations

import msgspec
from msgspec import field

from kapy.kube.model import Model


class MetadataBuiltins(Model):
    """Labels and annotations."""

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class NamedBuiltins(Model):
    """A reference, by name."""

    name: str = ""


class ClassRefBuiltins(Model):
    """The ClusterClass of a cluster."""

    name: str = ""
    namespace: str = ""


class TopologyBuiltins(Model):
    """What the user wrote: `version` may be ahead of control plane and workers."""

    version: str = ""
    class_ref: ClassRefBuiltins = field(default_factory=ClassRefBuiltins)


class NetworkBuiltins(Model):
    """The networks of a cluster."""

    service_domain: str | None = None
    services: list[str] = field(default_factory=list)
    pods: list[str] = field(default_factory=list)


class ClusterBuiltins(Model):
    """The cluster."""

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
    """The control plane; `version` is the one that it is getting."""

    version: str = ""
    name: str = ""
    replicas: int | None = None
    metadata: MetadataBuiltins = field(default_factory=MetadataBuiltins)
    machine_template: MachineTemplateBuiltins = field(default_factory=MachineTemplateBuiltins)


class BootstrapBuiltins(Model):
    """What workers are bootstrapped with."""

    config_ref: NamedBuiltins = field(default_factory=NamedBuiltins)


class WorkersBuiltins(Model):
    """A MachineDeployment or MachinePool; `version` is the one that it is getting."""

    version: str = ""
    class_: str = msgspec.field(default="", name="class")
    name: str = ""
    topology_name: str = ""
    replicas: int | None = None
    metadata: MetadataBuiltins = field(default_factory=MetadataBuiltins)
    bootstrap: BootstrapBuiltins = field(default_factory=BootstrapBuiltins)
    infrastructure_ref: NamedBuiltins = field(default_factory=NamedBuiltins)


class Builtins(Model):
    """All that is known; of control plane and workers that whose template it is."""

    cluster: ClusterBuiltins = field(default_factory=ClusterBuiltins)
    control_plane: ControlPlaneBuiltins | None = None
    machine_deployment: WorkersBuiltins | None = None
    machine_pool: WorkersBuiltins | None = None
