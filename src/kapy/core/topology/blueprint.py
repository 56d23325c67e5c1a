"""Read the blueprint of a cluster: its class, and the class's templates."""

from __future__ import annotations

from kapy.api.cluster import Cluster
from kapy.api.cluster_class import ClusterClass
from kapy.api.cluster_class_template import ClusterClassTemplate, ClusterClassTemplateReference
from kapy.api.names import ConditionType
from kapy.api.validation.class_use import class_key
from kapy.conditions.lookup import has, is_false
from kapy.contract.external import External
from kapy.core.topology.errors import NotReconciled, name_failed_step
from kapy.engine.cache import Informer
from kapy.kube import Document, Key
from kapy.kube.meta import read
from kapy.topology.blueprint import Blueprint, ControlPlaneBlueprint, WorkersBlueprint


def class_of(classes: Informer[Document], cluster: Cluster) -> ClusterClass:
    """Return the class of a Cluster. Raises NotReconciled if it does not exist."""
    key = class_key(cluster)
    document = None if key is None else classes.raw(key)
    if document is None:
        raise NotReconciled(
            f"failed to retrieve ClusterClass {key}: clusterclasses.cluster.x-k8s.io "
            f'"{key.name if key else ""}" not found'
        )
    return read(document, ClusterClass)


def check_reconciled(cluster_class: ClusterClass) -> None:
    """Raise NotReconciled for an outdated status; a change of it enqueues the Cluster."""
    status, ready = cluster_class.status, ConditionType.VARIABLES_READY
    problem = "ClusterClass is not successfully reconciled:"
    if not has(status.conditions, ready) or is_false(status.conditions, ready):
        raise NotReconciled(f'{problem} status of {ready} condition on ClusterClass must be "True"')
    generation, observed = cluster_class.metadata.generation, status.observed_generation
    if generation != observed:
        raise NotReconciled(
            f"{problem} ClusterClass.status.observedGeneration must be {generation}, "
            f"but is {observed}"
        )


async def blueprint_of(
    external: External, cluster: Cluster, cluster_class: ClusterClass
) -> Blueprint:
    """Return the class with its templates, each in the version that the class names.

    Raises CannotReconcile.
    """
    topology = cluster.spec.topology
    assert topology is not None
    reader = _BlueprintReader(external, cluster_class)
    spec = cluster_class.spec
    template = await reader.template(spec.control_plane.template_ref, "control plane template")
    machines = spec.control_plane.machine_infrastructure
    with name_failed_step(reader.read_error("control plane template")):
        contract = await external.contract(template)
    return Blueprint(
        topology=topology,
        cluster_class=cluster_class,
        infrastructure_cluster_template=await reader.template(
            spec.infrastructure.template_ref, "infrastructure cluster template"
        ),
        control_plane=ControlPlaneBlueprint(
            template,
            await reader.template(machines.template_ref, "control plane's machine template")
            if machines is not None
            else None,
            contract,
        ),
        machine_deployments={
            deployment.class_: await reader.workers(
                f'MachineDeployment class "{deployment.class_}"',
                deployment.bootstrap,
                deployment.infrastructure,
                "infrastructure machine template",
            )
            for deployment in spec.workers.machine_deployments
        },
        machine_pools={
            pool.class_: await reader.workers(
                f'MachinePool class "{pool.class_}"',
                pool.bootstrap,
                pool.infrastructure,
                "InfrastructureMachinePoolTemplate",
            )
            for pool in spec.workers.machine_pools
        },
    )


class _BlueprintReader:
    """Reads the templates of one class."""

    def __init__(self, external: External, cluster_class: ClusterClass) -> None:
        self._external = external
        self._class = cluster_class.key

    def read_error(self, subject: str, of: str = "") -> str:
        """Return the prefix of a template's read error."""
        whose = f"ClusterClass {self._class}" + (f", {of}" if of else "")
        return f"failed to get {subject} for {whose}"

    async def template(
        self, ref: ClusterClassTemplateReference, subject: str, of: str = ""
    ) -> Document:
        key = Key(self._class.namespace, ref.name)
        with name_failed_step(
            f"{self.read_error(subject, of)}: failed to retrieve {ref.kind} {key}"
        ):
            return await self._external.get_version(ref.api_version, ref.kind, key)

    async def workers(
        self,
        of: str,
        bootstrap: ClusterClassTemplate,
        infrastructure: ClusterClassTemplate,
        subject: str,
    ) -> WorkersBlueprint:
        return WorkersBlueprint(
            infrastructure_template=await self.template(infrastructure.template_ref, subject, of),
            bootstrap_template=await self.template(
                bootstrap.template_ref, "bootstrap config template", of
            ),
        )
