"""Fields that the status of several kinds has."""

from typing import Annotated

from msgspec import field

from kapy.api.condition import Condition, V1Beta1Condition
from kapy.api.embedded import StatusVersion
from kapy.kube.model import Model, rules

Conditions = Annotated[
    list[Condition],
    rules(
        "conditions are the observations of the object's current state. Each entry is "
        "the latest observation of one condition type. At most 32 entries are stored.",
        max_items=32,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["type"],
    ),
]
V1Beta1Conditions = Annotated[
    list[V1Beta1Condition],
    rules(
        "conditions are the conditions of the object as v1beta1 reports them. This field "
        "is deprecated and goes away together with v1beta1. Use the conditions of "
        "v1beta2 instead."
    ),
]
ObservedGeneration = Annotated[
    int,
    rules(
        "observedGeneration is the value of metadata.generation from which the status "
        "was computed. The status is out of date while it is smaller than "
        "metadata.generation.",
        format="int64",
        minimum=1,
    ),
]
Versions = Annotated[
    list[StatusVersion],
    rules(
        "versions are the Kubernetes versions of the Machines' kubelets, each with the "
        "number of Machines that run it. Machines without a known kubelet version are "
        "not counted. At most 100 versions are stored.",
        min_items=1,
        max_items=100,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["version"],
    ),
]
Selector = Annotated[
    str,
    rules(
        "selector is the label selector of the Machines as text, in the syntax of label "
        "queries. It is the selector of the scale subresource, which autoscalers read.",
        min_length=1,
        max_length=4096,
    ),
]

Replicas = Annotated[
    int | None,
    rules(
        "replicas is the number of Machines that exist. It includes Machines that are "
        "still being provisioned and Machines that are being deleted.",
        format="int32",
    ),
]
ReadyReplicas = Annotated[
    int | None,
    rules(
        "readyReplicas is the number of Machines whose Ready condition is True. Such "
        "Machines have a healthy Node and ready bootstrap and infrastructure objects.",
        format="int32",
    ),
]
AvailableReplicas = Annotated[
    int | None,
    rules(
        "availableReplicas is the number of Machines whose Available condition is True. "
        "A Machine is Available after it has been Ready for minReadySeconds.",
        format="int32",
    ),
]
UpToDateReplicas = Annotated[
    int | None,
    rules(
        "upToDateReplicas is the number of Machines whose UpToDate condition is True. "
        "Such Machines match the current specification of their owner.",
        format="int32",
    ),
]

FailureReason = Annotated[
    str | None,
    rules(
        "failureReason is a short value for programs that names a terminal problem of "
        "the object. This field is deprecated and goes away together with v1beta1. Only "
        "providers that implement the v1beta1 contract still set it."
    ),
]
FailureMessage = Annotated[
    str | None,
    rules(
        "failureMessage is a message for humans that describes a terminal problem of the "
        "object. This field is deprecated and goes away together with v1beta1. Only "
        "providers that implement the v1beta1 contract still set it.",
        min_length=1,
        max_length=10240,
    ),
]


class V1Beta1ConditionsStatus(Model):
    """V1Beta1ConditionsStatus groups the status fields of v1beta1 that v1beta2 does not have."""

    conditions: V1Beta1Conditions = field(default_factory=list)


class DeprecatedConditions(Model):
    """DeprecatedConditions groups the status fields of older API versions."""

    v1beta1: Annotated[
        V1Beta1ConditionsStatus | None,
        rules(
            "v1beta1 groups the status fields of v1beta1 that v1beta2 does not have. It goes "
            "away together with v1beta1."
        ),
    ] = None


Deprecated = Annotated[
    DeprecatedConditions | None,
    rules(
        "deprecated groups the status fields of older API versions. It goes away "
        "together with these versions. New clients do not need it."
    ),
]
