"""Small Structs that several kinds embed."""

from typing import Annotated, ClassVar

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
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    host: Annotated[str, rules(min_length=1, max_length=512)] = ""
    port: Annotated[int, rules(format="int32", minimum=1, maximum=65535)] = 0


class ContractVersionedObjectReference(Model):
    kind: Annotated[str, rules(min_length=1, max_length=63, pattern=KIND)]
    name: Annotated[str, rules(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]
    api_group: Annotated[str, rules(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]


class UnhealthyMachineCondition(Model):
    type: Annotated[
        str,
        rules(
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
    status: Annotated[str, rules(enum=["True", "False", "Unknown"])]
    timeout_seconds: Annotated[int, rules(format="int32", minimum=0)]


class UnhealthyNodeCondition(Model):
    type: Annotated[str, rules(min_length=1)]
    status: Annotated[str, rules(min_length=1)]
    timeout_seconds: Annotated[int, rules(format="int32", minimum=0)]


class MachineHealthCheckRemediationTemplateReference(Model):
    kind: Annotated[str, rules(min_length=1, max_length=63, pattern=KIND)]
    name: Annotated[str, rules(min_length=1, max_length=253, pattern=DNS_SUBDOMAIN)]
    api_version: Annotated[str, rules(min_length=1, max_length=317, pattern=DOMAIN_PATH)]


class MachineReadinessGate(Model):
    condition_type: Annotated[str, rules(min_length=1, max_length=316, pattern=QUALIFIED_NAME)]
    polarity: Annotated[str, rules(enum=["Positive", "Negative"])] = ""


class MachineTaint(Model):
    key: Annotated[str, rules(min_length=1, max_length=317, pattern=TAINT_KEY)]
    effect: Annotated[str, rules(enum=["NoSchedule", "PreferNoSchedule", "NoExecute"])]
    propagation: Annotated[str, rules(enum=["Always", "OnInitialization"])]
    value: Annotated[str, rules(min_length=1, max_length=63, pattern=LABEL_VALUE)] = ""


class TemplateMeta(Model):
    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


class StatusVersion(Model):
    version: Annotated[str, rules(min_length=1, max_length=256)]
    replicas: Annotated[int, rules(format="int32", minimum=1)] = 0


class FailureDomain(Model):
    name: Annotated[str, rules(min_length=1, max_length=256)]
    control_plane: bool | None = None
    attributes: dict[str, str] = field(default_factory=dict)


class MachineAddress(Model):
    type: Annotated[
        str, rules(enum=["Hostname", "ExternalIP", "InternalIP", "ExternalDNS", "InternalDNS"])
    ]
    address: Annotated[str, rules(min_length=1, max_length=256)]


class LabelSelectorRequirement(Model):
    key: str
    operator: str
    values: Annotated[list[str], rules(x_kubernetes_list_type="atomic")] = field(
        default_factory=list
    )


class LabelSelector(Model):
    SCHEMA: ClassVar[Document] = {"x-kubernetes-map-type": "atomic"}

    match_expressions: Annotated[
        list[LabelSelectorRequirement], rules(x_kubernetes_list_type="atomic")
    ] = field(default_factory=list)
    match_labels: dict[str, str] = field(default_factory=dict)
