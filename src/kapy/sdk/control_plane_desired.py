"""The desired Machines of a control plane and their objects (pure functions).

The documents are apply configurations: they contain only fields that the control plane manages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kapy.api.embedded import ContractVersionedObjectReference as Reference
from kapy.api.kubeadm_control_plane_machines import (
    KubeadmControlPlaneMachineTemplate as ControlPlaneMachineTemplate,
)
from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.templates import clone_template
from kapy.kube import Document
from kapy.kube.meta import Object, OwnerReference, owner_reference
from kapy.kube.model import encode
from kapy.kube.names import Resource
from kapy.kube.qualified_names import label_value


@dataclass(frozen=True, slots=True)
class DesiredMachines:
    """The desired Machines of one control plane.

    plane: the control plane. template: its `spec.machineTemplate`. cluster: the name of the
    Cluster. hook: the annotation that delays a Machine's shutdown until the provider agrees.
    readiness_gates: the readiness gates of the Machines.
    """

    plane: Object
    template: ControlPlaneMachineTemplate
    cluster: str
    hook: str
    readiness_gates: Sequence[Document]

    @property
    def labels(self) -> dict[str, str]:
        """Return the labels of a Machine and its objects."""
        return {
            **self.template.metadata.labels,
            Label.CLUSTER_NAME: self.cluster,
            Label.CONTROL_PLANE: "",
            Label.CONTROL_PLANE_NAME: label_value(self.plane.metadata.name),
        }

    @property
    def annotations(self) -> dict[str, str]:
        """Return the annotations of a Machine and its objects."""
        return dict(self.template.metadata.annotations)

    def owned_metadata(self, resource: Resource, name: str, uid: str = "") -> Document:
        """Return labels and annotations of a Machine's objects, which are changed in place."""
        return {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": name,
                "namespace": self.plane.metadata.namespace,
                **_unless_empty("uid", uid),
                "labels": self.labels,
                "annotations": self.annotations,
            },
        }

    def infrastructure(
        self, template: Document, name: str, owner: OwnerReference | None = None
    ) -> Document:
        """Return the infrastructure of a Machine, cloned from the infrastructure template."""
        return clone_template(
            template,
            name=name,
            namespace=self.plane.metadata.namespace,
            cluster_name=self.cluster,
            owner=owner,
            labels=self.labels,
            annotations=self.annotations,
        )

    def config(self, name: str, wanted: Document) -> Document:
        """Return the bootstrap configuration of a new Machine. Its owner is no controller, since
        the Machine will be. wanted: apiVersion, kind, spec, and additional metadata.
        """
        metadata = wanted.get("metadata") or {}
        return {
            "apiVersion": wanted["apiVersion"],
            "kind": wanted["kind"],
            "metadata": {
                "name": name,
                "namespace": self.plane.metadata.namespace,
                "labels": {**(metadata.get("labels") or {}), **self.labels},
                "annotations": {**(metadata.get("annotations") or {}), **self.annotations},
                "ownerReferences": [encode(owner_reference(self.plane))],
            },
            "spec": wanted.get("spec") or {},
        }

    def new_machine(
        self,
        name: str,
        failure_domain: str,
        *,
        version: str,
        infrastructure: Reference,
        config: Reference,
        annotations: Mapping[str, str] | None = None,
    ) -> Document:
        """Return the apply configuration of a new Machine. annotations: annotations in addition to
        those of the template.
        """
        metadata = {"name": name, "namespace": self.plane.metadata.namespace}
        spec = self._spec(failure_domain, version, infrastructure, config)
        return self._machine(metadata, spec, {**(annotations or {}), self.hook: ""})

    def updated_machine(
        self, machine: Machine, annotations: Mapping[str, str] | None = None
    ) -> Document:
        """Return the apply configuration of an existing Machine with its mutable fields.
        annotations: annotations in addition to those of the template.
        """
        there, metadata = machine.spec, machine.metadata
        spec = self._spec(
            there.failure_domain,
            there.version,
            there.infrastructure_ref,
            there.bootstrap.config_ref,
        )
        named = {"name": metadata.name, "namespace": metadata.namespace, "uid": metadata.uid}
        return self._machine(named, spec, annotations or {})

    def _machine(
        self, metadata: Document, spec: Document, annotations: Mapping[str, str]
    ) -> Document:
        owner = owner_reference(self.plane, controller=True, block_deletion=True)
        return {
            "apiVersion": Machine.RESOURCE.api_version,
            "kind": Machine.RESOURCE.kind,
            "metadata": {
                **metadata,
                "labels": self.labels,
                "annotations": {**self.annotations, **annotations},
                "ownerReferences": [encode(owner)],
            },
            "spec": spec,
        }

    def _spec(
        self,
        failure_domain: str,
        version: str,
        infrastructure: Reference,
        config: Reference | None,
    ) -> Document:
        template = self.template.spec
        return {
            "clusterName": self.cluster,
            **_unless_empty("version", version),
            "bootstrap": {} if config is None else {"configRef": encode(config)},
            "infrastructureRef": encode(infrastructure),
            **_unless_empty("failureDomain", failure_domain),
            **_unless_empty("readinessGates", list(self.readiness_gates)),
            **_unless_empty("deletion", encode(template.deletion)),
            **_unless_empty("taints", [encode(taint) for taint in template.taints]),
        }


def _unless_empty(field: str, value: Any) -> Document:
    return {field: value} if value else {}
