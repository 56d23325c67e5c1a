"""Conditions that make a Machine unhealthy, and references to remediation templates."""

from typing import Annotated

from kapy.api.patterns import (
    DNS_SUBDOMAIN,
    DOMAIN_PATH,
    KIND,
    QUALIFIED_NAME,
)
from kapy.kube.model import Model, rules

UnhealthyMachineConditionType = Annotated[
    str,
    rules(
        "type is the type of the condition of the Machine. Ready, Available, "
        "HealthCheckSucceeded, OwnerRemediated and ExternallyRemediated are not allowed, "
        "because the health check itself writes or influences them.",
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
    """UnhealthyMachineCondition is a condition status of a Machine that makes the Machine unhealthy
    when it lasts.
    """

    type: UnhealthyMachineConditionType
    status: Annotated[
        str,
        rules(
            "status is the unhealthy status of the condition. Allowed values are True, False "
            "and Unknown.",
            enum=["True", "False", "Unknown"],
        ),
    ]
    timeout_seconds: Annotated[
        int,
        rules(
            "timeoutSeconds is the time in seconds for which the condition must have this "
            "status before the Machine is unhealthy. With 0 the Machine is unhealthy at "
            "once.",
            format="int32",
            minimum=0,
            zero="kept",
        ),
    ]


class UnhealthyNodeCondition(Model):
    """UnhealthyNodeCondition is a condition status of a Node that makes the Machine of the Node
    unhealthy when it lasts.
    """

    type: Annotated[
        str,
        rules(
            "type is the type of the condition of the Node, for example Ready or MemoryPressure.",
            min_length=1,
        ),
    ]
    status: Annotated[
        str,
        rules(
            "status is the unhealthy status of the condition. Usual values are True, False "
            "and Unknown.",
            min_length=1,
        ),
    ]
    timeout_seconds: Annotated[
        int,
        rules(
            "timeoutSeconds is the time in seconds for which the condition must have this "
            "status before the Machine is unhealthy. With 0 the Machine is unhealthy at "
            "once.",
            format="int32",
            minimum=0,
            zero="kept",
        ),
    ]


class MachineHealthCheckRemediationTemplateReference(Model):
    """MachineHealthCheckRemediationTemplateReference is a reference to a template of remediation
    requests.
    """

    kind: Annotated[
        str,
        rules(
            "kind is the kind of the template. The kind of the remediation requests is this "
            "name without the suffix Template.",
            min_length=1,
            max_length=63,
            pattern=KIND,
        ),
    ]
    name: Annotated[
        str,
        rules(
            "name is the name of the template. The template must be in the same namespace as "
            "the referring object.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    api_version: Annotated[
        str,
        rules(
            "apiVersion is the API group and version of the template, for example "
            "infrastructure.cluster.x-k8s.io/v1beta2.",
            min_length=1,
            max_length=317,
            pattern=DOMAIN_PATH,
        ),
    ]
