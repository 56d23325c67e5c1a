"""Small Structs that several kinds embed, as v1beta1 had them."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api import embedded
from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.core_v1 import ObjectReference as ObjectReference
from kapy.api.v1beta1.model import OldModel
from kapy.kube.model import rules


class MachineReadinessGate(embedded.MachineReadinessGate):
    """One more condition of a Machine that Ready takes into account."""

    ZEROS: ClassVar[bool] = True


class MachineAddress(embedded.MachineAddress):
    """One address of a machine."""

    ZEROS: ClassVar[bool] = True


class TemplateMeta(OldModel):
    """Metadata that objects made of a template get."""

    labels: Annotated[dict[str, str], rules("Labels for the objects.")] = field(
        default_factory=dict
    )
    annotations: Annotated[dict[str, str], rules("Annotations for the objects.")] = field(
        default_factory=dict
    )


class FailureDomain(OldModel):
    """A part of the infrastructure that fails as a whole; its name is its key."""

    control_plane: Annotated[bool, rules("Whether control plane machines may be put there.")] = (
        False
    )
    attributes: Annotated[dict[str, str], rules("Whatever else the provider says about it.")] = (
        field(default_factory=dict)
    )


class ConditionsStatus(OldModel):
    """The conditions of the version after this one."""

    conditions: Annotated[
        list[Condition],
        rules(
            "What can be said about the object's state, one condition for each aspect.",
            max_items=32,
            x_kubernetes_list_type="map",
            x_kubernetes_list_map_keys=["type"],
        ),
    ] = field(default_factory=list)


OldConditions = Annotated[
    list[V1Beta1Condition],
    rules("What can be said about the object's state, one condition for each aspect."),
]
"""The conditions of this version."""
