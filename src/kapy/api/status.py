"""Fields that the status of several kinds has."""

from typing import Annotated

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import StatusVersion
from kapy.kube.model import Model, rules

Conditions = Annotated[
    list[Condition],
    rules(
        "What can be said about the object's state, one condition for each aspect.",
        max_items=32,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["type"],
    ),
]
V1Beta1Conditions = Annotated[
    list[V1Beta1Condition],
    rules("What can be said about the object's state, one condition for each aspect."),
]
ObservedGeneration = Annotated[
    int,
    rules(
        "The generation of the object that the status was computed from.",
        format="int64",
        minimum=1,
    ),
]
Versions = Annotated[
    list[StatusVersion],
    rules(
        "How many machines run which version of Kubernetes.",
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["version"],
    ),
]
Selector = Annotated[
    str,
    rules(
        "The label selector that finds the Machines, as text, for autoscalers.",
        min_length=1,
        max_length=4096,
    ),
]

Replicas = Annotated[int | None, rules("How many Machines there are.", format="int32")]
ReadyReplicas = Annotated[int | None, rules("How many Machines are Ready.", format="int32")]
AvailableReplicas = Annotated[int | None, rules("How many Machines are Available.", format="int32")]
UpToDateReplicas = Annotated[
    int | None, rules("How many Machines are as they are wanted.", format="int32")
]

FailureReason = Annotated[
    str | None, rules("In one word, why the object failed for good; v1beta1 reported it.")
]
FailureMessage = Annotated[
    str | None,
    rules(
        "In a sentence, why the object failed for good; v1beta1 reported it.",
        min_length=1,
        max_length=10240,
    ),
]


class V1Beta1ConditionsStatus(Model):
    """What v1beta1 reported."""

    conditions: V1Beta1Conditions = field(default_factory=list)


class DeprecatedConditions(Model):
    """What older versions of the API reported."""

    v1beta1: Annotated[V1Beta1ConditionsStatus | None, rules("What v1beta1 reported.")] = None


Deprecated = Annotated[
    DeprecatedConditions | None, rules("Values that only readers of v1beta1 still look at.")
]
