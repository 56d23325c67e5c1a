"""MachineDrainRule: how Pods leave a Node before its machine is deleted."""

from typing import Annotated, ClassVar

from msgspec import field

from kapy.api.embedded import LabelSelector
from kapy.kube import Document
from kapy.kube.meta import Object
from kapy.kube.model import Model, rules
from kapy.kube.names import Resource


class MachineDrainRuleDrainConfig(Model):
    """What to do with the Pods."""

    behavior: Annotated[
        str,
        rules(
            "Evict them (Drain), leave them (Skip) or wait until they end (WaitCompleted).",
            enum=["Drain", "Skip", "WaitCompleted"],
        ),
    ]
    order: Annotated[
        int | None,
        rules(
            "When it is their turn: Pods of lower orders are gone before the next order begins; "
            "0 unless said. Only for Drain.",
            format="int32",
        ),
    ] = None


class MachineDrainRuleMachineSelector(Model):
    """Selects Machines; all that is said must hold."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    selector: Annotated[LabelSelector | None, rules("Labels of the Machine.")] = None
    cluster_selector: Annotated[
        LabelSelector | None, rules("Labels of the Cluster that the Machine belongs to.")
    ] = None


class MachineDrainRulePodSelector(Model):
    """Selects Pods; all that is said must hold."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    selector: Annotated[LabelSelector | None, rules("Labels of the Pod.")] = None
    namespace_selector: Annotated[
        LabelSelector | None, rules("Labels of the namespace that the Pod is in.")
    ] = None


Machines = Annotated[
    list[MachineDrainRuleMachineSelector],
    rules(
        "The Machines that the rule is for, any of these; all unless said.",
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
        "The Pods that the rule is for, any of these; all unless said.",
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
    """What the rule says, and of which Pods on which Machines."""

    drain: Annotated[MachineDrainRuleDrainConfig, rules("What to do with the Pods.")]
    machines: Machines = field(default_factory=list)
    pods: Pods = field(default_factory=list)


class MachineDrainRule(Object, kw_only=True):
    """Says how Pods leave a Node before its machine is deleted."""

    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta2", "machinedrainrules", "MachineDrainRule"
    )
    SCHEMA: ClassVar[Document] = {"required": ["metadata", "spec"]}

    spec: Annotated[MachineDrainRuleSpec, rules("The rule.")]
