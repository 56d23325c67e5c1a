"""MachineDrainRule: how Pods leave a Node before its machine is deleted."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class MachineDrainRuleDrainConfig(Model):
    """MachineDrainRuleDrainConfig configures how Pods are removed from a Node."""

    behavior: Annotated[
        str,
        rules(
            "behavior tells what happens to the Pods. Allowed values are Drain, Skip and "
            "WaitCompleted. With Drain the Pods are evicted. With Skip they are left on the "
            "Node. With WaitCompleted the drain waits until they complete by themselves.",
            enum=["Drain", "Skip", "WaitCompleted"],
        ),
    ]
    order: Annotated[
        int | None,
        rules(
            "order is the position of the Pods in the drain. Pods with a lower order must be "
            "gone before Pods with a higher order are evicted. It may be negative. It must "
            "not be set unless behavior is Drain. Defaults to 0.",
            format="int32",
        ),
    ] = None


class MachineDrainRuleMachineSelector(Model):
    """MachineDrainRuleMachineSelector selects Machines by their labels and by the labels of their
    Cluster. A Machine must match both selectors.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    selector: Annotated[
        LabelSelector | None,
        rules(
            "selector selects Machines by their labels. If it is not set or empty, the "
            "labels of the Machine do not matter."
        ),
    ] = None
    cluster_selector: Annotated[
        LabelSelector | None,
        rules(
            "clusterSelector selects Machines by the labels of their Cluster. If it is not "
            "set or empty, the labels of the Cluster do not matter."
        ),
    ] = None


class MachineDrainRulePodSelector(Model):
    """MachineDrainRulePodSelector selects Pods by their labels and by the labels of their
    namespace. A Pod must match both selectors.
    """

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    selector: Annotated[
        LabelSelector | None,
        rules(
            "selector selects Pods by their labels. If it is not set or empty, the labels of "
            "the Pod do not matter."
        ),
    ] = None
    namespace_selector: Annotated[
        LabelSelector | None,
        rules(
            "namespaceSelector selects Pods by the labels of their namespace in the workload "
            "cluster. If it is not set or empty, the namespace does not matter."
        ),
    ] = None


Machines = Annotated[
    list[MachineDrainRuleMachineSelector],
    rules(
        "machines selects the Machines to which the rule applies. A Machine must match "
        "one of the entries. If it is not set, the rule applies to all Machines in the "
        "namespace. At most 32 entries are allowed. They must be unique.",
        min_items=1,
        max_items=32,
        x_kubernetes_list_type="atomic",
        x_kubernetes_validations=[
            {
                "message": "entries in machines must be unique",
                "rule": "self.all(x, self.exists_one(y, x == y))",
            }
        ],
    ),
]
Pods = Annotated[
    list[MachineDrainRulePodSelector],
    rules(
        "pods selects the Pods to which the rule applies. A Pod must match one of the "
        "entries. If it is not set, the rule applies to all Pods. At most 32 entries are "
        "allowed. They must be unique.",
        min_items=1,
        max_items=32,
        x_kubernetes_list_type="atomic",
        x_kubernetes_validations=[
            {
                "message": "entries in pods must be unique",
                "rule": "self.all(x, self.exists_one(y, x == y))",
            }
        ],
    ),
]


class MachineDrainRuleSpec(Model):
    """MachineDrainRuleSpec is the desired state of a MachineDrainRule."""

    drain: Annotated[
        MachineDrainRuleDrainConfig,
        rules(
            "drain configures how the selected Pods are removed from the Node. Several rules "
            "may match a Pod. Then the first rule in the alphabetical order of names "
            "applies."
        ),
    ]
    machines: Machines = field(default_factory=list)
    pods: Pods = field(default_factory=list)


class MachineDrainRule(Object, kw_only=True):
    """MachineDrainRule configures which Pods are evicted, skipped or waited for when the Node of a
    Machine is drained before its deletion.
    """

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinedrainrules", "MachineDrainRule"
    )
    SCHEMA: ClassVar[Document] = {"required": ["metadata", "spec"]}

    spec: Annotated[
        MachineDrainRuleSpec,
        rules(
            "spec is the desired state of the MachineDrainRule. The drain of a Machine reads "
            "it when the drain starts and in each step."
        ),
    ]
