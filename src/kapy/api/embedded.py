"""Small Structs that several kinds embed."""

from typing import Annotated, Any, ClassVar

from msgspec import field

from kapy.api.patterns import (
    DNS_SUBDOMAIN,
    KIND,
    LABEL_VALUE,
    QUALIFIED_NAME,
    TAINT_KEY,
)
from kapy.kube import Document
from kapy.kube.model import Model, rules


class APIEndpoint(Model):
    """APIEndpoint is the address at which an API server is reached."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    host: Annotated[
        str,
        rules(
            "host is the DNS name or IP address at which clients reach the API server. It is "
            "usually that of a load balancer.",
            min_length=1,
            max_length=512,
        ),
    ] = ""
    port: Annotated[
        int,
        rules(
            "port is the TCP port at which clients reach the API server. Allowed values are "
            "1 to 65535. It may differ from the port of the API servers behind a load "
            "balancer.",
            format="int32",
            minimum=1,
            maximum=65535,
        ),
    ] = 0


class ContractVersionedObjectReference(Model):
    """ContractVersionedObjectReference is a reference to an object in the same namespace. It has no
    API version. Controllers read the version from the contract labels of the kind's CRD.
    """

    kind: Annotated[
        str,
        rules(
            "kind is the kind of the referenced object. It must begin with a letter. It may "
            "contain letters, digits and hyphens.",
            min_length=1,
            max_length=63,
            pattern=KIND,
        ),
    ]
    name: Annotated[
        str,
        rules(
            "name is the name of the referenced object. The object must be in the same "
            "namespace as the referring object.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    api_group: Annotated[
        str,
        rules(
            "apiGroup is the API group of the referenced object, without a version. The "
            "contract labels of the CRD select the version.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]


class ClusterVariable(Model):
    """ClusterVariable is the value of one variable of a ClusterClass."""

    name: Annotated[
        str,
        rules(
            "name is the name of the variable. The ClusterClass or one of its external "
            "patches must define a variable with this name.",
            min_length=1,
            max_length=256,
        ),
    ]
    value: Annotated[
        Any,
        rules(
            "value is the value of the variable. It must match the schema of the variable's "
            "definition. Fields that are absent take the defaults of that schema. A change "
            "reaches the objects of the Cluster through the patches that use the variable. "
            "It causes a rollout if a template changes."
        ),
    ]


class MachineReadinessGate(Model):
    """MachineReadinessGate is a condition of a Machine that its Ready condition takes into
    account.
    """

    condition_type: Annotated[
        str,
        rules(
            "conditionType is the type of a condition of the Machine. A condition that does "
            "not exist counts as Unknown. It must be unique in the list.",
            min_length=1,
            max_length=316,
            pattern=QUALIFIED_NAME,
        ),
    ]
    polarity: Annotated[
        str,
        rules(
            "polarity tells which status of the condition is the good one. Allowed values "
            "are Positive and Negative. With Positive True is good. With Negative False is "
            "good. Defaults to Positive.",
            enum=["Positive", "Negative"],
        ),
    ] = ""


class MachineTaint(Model, kw_only=True):
    """MachineTaint is a taint that Cluster API sets on the Node of a Machine."""

    key: Annotated[
        str,
        rules(
            "key is the key of the taint, possibly with a domain as prefix. Key and effect "
            "together must be unique in the list. Keys that Cluster API or Kubernetes "
            "manages themselves are not allowed.",
            min_length=1,
            max_length=317,
            pattern=TAINT_KEY,
        ),
    ]
    value: Annotated[
        str,
        rules(
            "value is the value of the taint. It may be empty. A change is applied to "
            "existing Nodes in place.",
            min_length=1,
            max_length=63,
            pattern=LABEL_VALUE,
        ),
    ] = ""
    effect: Annotated[
        str,
        rules(
            "effect is the effect of the taint on Pods that do not tolerate it. Allowed "
            "values are NoSchedule, PreferNoSchedule and NoExecute.",
            enum=["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ),
    ]
    propagation: Annotated[
        str,
        rules(
            "propagation tells how long the taint is maintained. Allowed values are Always "
            "and OnInitialization. With Always the taint is set again whenever it is missing "
            "on the Node. With OnInitialization it is set once, when the Node joins.",
            enum=["Always", "OnInitialization"],
        ),
    ]


ReadinessGates = Annotated[
    list[MachineReadinessGate],
    rules(
        "readinessGates are additional conditions of the Machine that must hold before "
        "its Ready condition becomes True. At most 32 are allowed. A change is applied "
        "to existing Machines in place.",
        min_items=1,
        max_items=32,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["conditionType"],
    ),
]
Taints = Annotated[
    list[MachineTaint],
    rules(
        "taints are the taints that Cluster API sets on the Nodes of the Machines. "
        "Taints of other origins stay on the Nodes. At most 64 are allowed. A change is "
        "applied to existing Nodes in place. The feature gate MachineTaintPropagation "
        "must be enabled.",
        min_items=1,
        max_items=64,
        x_kubernetes_list_type="map",
        x_kubernetes_list_map_keys=["key", "effect"],
    ),
]


class TemplateMeta(Model):
    """TemplateMeta is the metadata of objects that are created from a template."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: Annotated[
        dict[str, str],
        rules(
            "labels are the labels of the objects that are created from the template. For "
            "Machines a change is applied to existing objects in place."
        ),
    ] = field(default_factory=dict)
    annotations: Annotated[
        dict[str, str],
        rules(
            "annotations are the annotations of the objects that are created from the "
            "template. For Machines a change is applied to existing objects in place."
        ),
    ] = field(default_factory=dict)


class StatusVersion(Model):
    """StatusVersion is the number of machines that run one Kubernetes version."""

    version: Annotated[
        str,
        rules(
            "version is the Kubernetes version that the kubelets of the machines report, for "
            "example v1.34.1.",
            min_length=1,
            max_length=256,
        ),
    ]
    replicas: Annotated[
        int,
        rules(
            "replicas is the number of machines whose kubelet reports this version. It is at "
            "least 1.",
            format="int32",
            minimum=1,
        ),
    ] = 0


class FailureDomain(Model):
    """FailureDomain is a part of the infrastructure that fails independently of the others, for
    example a zone.
    """

    name: Annotated[
        str,
        rules(
            "name is the name of the failure domain. Machines refer to it in their "
            "failureDomain field.",
            min_length=1,
            max_length=256,
        ),
    ]
    control_plane: Annotated[
        bool | None,
        rules(
            "controlPlane tells whether control plane machines may be placed in this failure "
            "domain. Defaults to false."
        ),
    ] = None
    attributes: Annotated[
        dict[str, str],
        rules(
            "attributes are free-form properties of the failure domain that the "
            "infrastructure provider sets. Cluster API does not interpret them."
        ),
    ] = field(default_factory=dict)


class MachineAddress(Model):
    """MachineAddress is one address of a machine."""

    type: Annotated[
        str,
        rules(
            "type is the type of the address. Allowed values are Hostname, ExternalIP, "
            "InternalIP, ExternalDNS and InternalDNS.",
            enum=["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"],
        ),
    ]
    address: Annotated[
        str,
        rules(
            "address is the host name, DNS name or IP address of the machine. Its form "
            "depends on type.",
            min_length=1,
            max_length=256,
        ),
    ]


class LabelSelectorRequirement(Model):
    """LabelSelectorRequirement is one requirement on the values of a label."""

    ZEROS: ClassVar[bool] = True

    key: Annotated[
        str,
        rules(
            "key is the key of the label to which the requirement applies. It may have a "
            "domain as prefix, for example cluster.x-k8s.io/deployment-name."
        ),
    ]
    operator: Annotated[
        str,
        rules(
            "operator relates the label to the values. Allowed values are In, NotIn, Exists "
            "and DoesNotExist. Exists and DoesNotExist look at the key only."
        ),
    ]
    values: Annotated[
        list[str],
        rules(
            "values are the values for the operator. They must not be empty for In and "
            "NotIn. They must be empty for Exists and DoesNotExist.",
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)


class LabelSelector(Model):
    """LabelSelector selects objects by their labels. An object is selected if all requirements
    hold. An empty selector selects all objects.
    """

    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    match_labels: Annotated[
        dict[str, str],
        rules(
            "matchLabels is a map of labels that selected objects must have. Each entry is "
            "equivalent to a requirement with the operator In and one value."
        ),
    ] = field(default_factory=dict)
    match_expressions: Annotated[
        list[LabelSelectorRequirement],
        rules(
            "matchExpressions is a list of requirements on labels. An object must satisfy "
            "all of them and all entries of matchLabels.",
            x_kubernetes_list_type="atomic",
        ),
    ] = field(default_factory=list)
