"""Small Structs that several kinds embed."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from kapy.api.patterns import (
    DNS_SUBDOMAIN,
    DOMAIN_PATH,
    KIND,
    LABEL_VALUE,
    QUALIFIED_NAME,
    TAINT_KEY,
)
from kapy.kube import Document
from kapy.kube.model import Model, rules


class APIEndpoint(Model):
    """Where an API server is reached."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    host: Annotated[str, rules("Its host name or address.", min_length=1, max_length=512)] = ""
    port: Annotated[int, rules("Its port.", format="int32", minimum=1, maximum=65535)] = 0


class ContractVersionedObjectReference(Model):
    """A reference whose API version follows from the contract labels of the kind's CRD."""

    kind: Annotated[
        str, rules("The referenced object's kind.", min_length=1, max_length=63, pattern=KIND)
    ]
    name: Annotated[
        str,
        rules("The referenced object's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN),
    ]
    api_group: Annotated[
        str,
        rules(
            "The API group of the referenced object's kind.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class ClusterVariable(Model):
    """The value of one variable."""

    name: Annotated[str, rules("The variable's name.", min_length=1, max_length=256)]
    value: Annotated[Any, rules("The variable's value, of the type that its definition asks for.")]


UnhealthyMachineConditionType = Annotated[
    str,
    rules(
        "The condition's type.",
        min_length=1,
        max_length=316,
        pattern=QUALIFIED_NAME,
        x_kubernetes_validations=[
            {
                "message": (
                    "type must not be one of: Ready, Available, "
                    "HealthCheckSucceeded, OwnerRemediated, ExternallyRemediated"
                ),
                "rule": (
                    "!(self in ['Ready','Available','HealthCheckSucceeded',"
                    "'OwnerRemediated','ExternallyRemediated'])"
                ),
            }
        ],
    ),
]
"""Conditions that a MachineHealthCheck writes itself, or that follow from those, do not count."""


class UnhealthyMachineCondition(Model):
    """A condition of a Machine that is a sign of ill health when it lasts."""

    type: UnhealthyMachineConditionType
    status: Annotated[str, rules("The condition's bad status.", enum=["True", "False", "Unknown"])]
    timeout_seconds: Annotated[
        int, rules("How long it must last.", format="int32", minimum=0, zero="kept")
    ]


class UnhealthyNodeCondition(Model):
    """A condition of a Node that is a sign of ill health when it lasts."""

    type: Annotated[str, rules("The condition's type.", min_length=1)]
    status: Annotated[str, rules("The condition's bad status.", min_length=1)]
    timeout_seconds: Annotated[
        int, rules("How long it must last.", format="int32", minimum=0, zero="kept")
    ]


class MachineHealthCheckRemediationTemplateReference(Model):
    """Names a remediation template."""

    kind: Annotated[str, rules("The template's kind.", min_length=1, max_length=63, pattern=KIND)]
    name: Annotated[
        str, rules("The template's name.", min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)
    ]
    api_version: Annotated[
        str,
        rules(
            "The API group and version of the template's kind.",
            min_length=1,
            max_length=317,
            pattern=DOMAIN_PATH,
        ),
    ]


class MachineReadinessGate(Model):
    """One more condition of a Machine that Ready takes into account."""

    condition_type: Annotated[
        str, rules("The condition's type.", min_length=1, max_length=316, pattern=QUALIFIED_NAME)
    ]
    polarity: Annotated[
        str,
        rules(
            "Which status is the good one: True (Positive, unless said) or False (Negative).",
            enum=["Positive", "Negative"],
        ),
    ] = ""


class MachineTaint(Model, kw_only=True):
    """A taint that a Node gets from its Machine."""

    key: Annotated[str, rules("The taint's key.", min_length=1, max_length=317, pattern=TAINT_KEY)]
    value: Annotated[
        str, rules("The taint's value.", min_length=1, max_length=63, pattern=LABEL_VALUE)
    ] = ""
    effect: Annotated[
        str,
        rules(
            "What the taint does to Pods that do not tolerate it.",
            enum=["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ),
    ]
    propagation: Annotated[
        str,
        rules(
            "Whether it is kept on the Node (Always) or put there once (OnInitialization).",
            enum=["Always", "OnInitialization"],
        ),
    ]


ReadinessGates = Annotated[
    list[MachineReadinessGate],
    rules(
        "Conditions that must hold too before a Machine counts as Ready.",
        min_items=1,
        max_items=32,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["conditionType"],
    ),
]
Taints = Annotated[
    list[MachineTaint],
    rules(
        "Taints that the Nodes of the machines get.",
        min_items=1,
        max_items=64,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["key", "effect"],
    ),
]


class TemplateMeta(Model):
    """Metadata that objects made of a template get."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: Annotated[dict[str, str], rules("Labels for the objects.")] = field(
        default_factory=dict
    )
    annotations: Annotated[dict[str, str], rules("Annotations for the objects.")] = field(
        default_factory=dict
    )


class StatusVersion(Model):
    """How many machines run one version."""

    version: Annotated[str, rules("The version of Kubernetes.", min_length=1, max_length=256)]
    replicas: Annotated[int, rules("How many machines run it.", format="int32", minimum=1)] = 0


class FailureDomain(Model):
    """A part of the infrastructure that fails as a whole."""

    name: Annotated[str, rules("What machines call it.", min_length=1, max_length=256)]
    control_plane: Annotated[
        bool | None, rules("Whether control plane machines may be put there.")
    ] = None
    attributes: Annotated[dict[str, str], rules("Whatever else the provider says about it.")] = (
        field(default_factory=dict)
    )


class MachineAddress(Model):
    """One address of a machine."""

    type: Annotated[
        str,
        rules(
            "Whether it is a name or an address, and from where it can be reached.",
            enum=["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"],
        ),
    ]
    address: Annotated[str, rules("The name or address.", min_length=1, max_length=256)]


class LabelSelectorRequirement(Model):
    """One requirement on one label."""

    ZEROS: ClassVar[bool] = True

    key: Annotated[str, rules("The label's key.")]
    operator: Annotated[str, rules("In, NotIn, Exists or DoesNotExist.")]
    values: Annotated[
        list[str], rules("The values for In and NotIn.", x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)


class LabelSelector(Model):
    """Selects objects by their labels; all requirements must hold."""

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    match_labels: Annotated[dict[str, str], rules("Values that labels must have.")] = field(
        default_factory=dict
    )
    match_expressions: Annotated[
        list[LabelSelectorRequirement],
        rules("Requirements that are more than a value.", x_kubernetes_list_type="atomic"),
    ] = field(default_factory=list)
