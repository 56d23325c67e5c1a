"""The template of the Machines of a KubeadmControlPlane."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import (
    ContractVersionedObjectReference,
    ReadinessGates,
    Taints,
    TemplateMeta,
)
from kapy.api.machine import MachineDeletionSpec
from kapy.kube import Document
from kapy.kube.model import Model, rules


class KubeadmControlPlaneMachineNamingSpec(Model):
    """KubeadmControlPlaneMachineNamingSpec configures the names of control plane Machines."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "template is the Go template of the names of new Machines. It knows "
            ".cluster.name, .kubeadmControlPlane.name and .random, and must contain .random. "
            "A name that is longer than 63 characters is cut and gets a random suffix. "
            "Defaults to {{ .kubeadmControlPlane.name }}-{{ .random }}. Existing Machines "
            "keep their names.",
            min_length=1,
            max_length=256,
        ),
    ] = ""


class KubeadmControlPlaneMachineTemplateSpec(Model):
    """KubeadmControlPlaneMachineTemplateSpec is the desired state of control plane Machines."""

    infrastructure_ref: Annotated[
        ContractVersionedObjectReference,
        rules(
            "infrastructureRef is a reference to the template of the infrastructure of the "
            "Machines. A change rolls out new Machines."
        ),
    ]
    readiness_gates: Annotated[
        ReadinessGates,
        rules(
            "readinessGates are additional conditions of the Machines that must hold before "
            "their Ready condition becomes True. The controller adds conditions of its own "
            "components. At most 32 are allowed. A change is applied in place."
        ),
    ] = field(default_factory=list)
    deletion: Annotated[
        MachineDeletionSpec,
        rules("deletion configures the deletion of the Machines. A change is applied in place."),
    ] = field(default_factory=MachineDeletionSpec)
    taints: Taints = field(default_factory=list)


class KubeadmControlPlaneMachineTemplate(Model, kw_only=True):
    """KubeadmControlPlaneMachineTemplate describes control plane Machines."""

    metadata: Annotated[
        TemplateMeta,
        rules(
            "metadata are the labels and annotations of the Machines and of their bootstrap "
            "and infrastructure objects. A change is applied in place."
        ),
    ] = field(default_factory=TemplateMeta)
    spec: Annotated[
        KubeadmControlPlaneMachineTemplateSpec,
        rules(
            "spec is the desired state of the Machines. A change of infrastructureRef rolls "
            "out new Machines. Other changes are applied in place."
        ),
    ]
