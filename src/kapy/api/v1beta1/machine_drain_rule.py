"""MachineDrainRule as v1beta1 served it."""

from typing import ClassVar

from msgspec import field

from kapy.api import machine_drain_rule
from kapy.api.machine_drain_rule import Machines, Pods
from kapy.api.v1beta1.model import OldModel, OldObject
from kapy.kube import Document
from kapy.kube.names import Resource


class MachineDrainRuleDrainConfig(machine_drain_rule.MachineDrainRuleDrainConfig):
    ZEROS: ClassVar[bool] = True


class MachineDrainRuleSpec(OldModel):
    drain: MachineDrainRuleDrainConfig
    machines: Machines = field(default_factory=list)
    pods: Pods = field(default_factory=list)


class MachineDrainRule(OldObject, kw_only=True):
    RESOURCE: ClassVar[Resource] = Resource(
        "cluster.x-k8s.io", "v1beta1", "machinedrainrules", "MachineDrainRule"
    )
    SCHEMA: ClassVar[Document] = {"required": ["metadata", "spec"]}

    spec: MachineDrainRuleSpec
