"""Small parts that several kinds embed, as v1beta1 had them."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import field

from kapy.api import embedded
from kapy.api.older.difference import Difference, OldModel, Place
from kapy.api.older.rows import add, custom, drop, retype
from kapy.api.status import (
    AvailableReplicas,
    Conditions,
    ReadyReplicas,
    UpToDateReplicas,
)
from kapy.kube import Document
from kapy.kube.model import rules


class ConditionsStatus(OldModel):
    """ConditionsStatus groups the conditions that v1beta2 reports."""

    conditions: Conditions = field(default_factory=list)


class ReplicasStatus(ConditionsStatus):
    """ReplicasStatus groups the conditions and numbers of replicas that v1beta2 reports."""

    ready_replicas: ReadyReplicas = None
    available_replicas: AvailableReplicas = None
    up_to_date_replicas: UpToDateReplicas = None


class MachineNamingStrategy(OldModel):
    """MachineNamingStrategy configures the names of Machines."""

    template: Annotated[
        str,
        rules(
            same_as="MachineNamingSpec.template",
            min_length=1,
            max_length=256,
        ),
    ] = ""


GROUPED: Final = rules(
    "v1beta2 groups the status fields that v1beta2 reports. They prepare clients for v1beta2."
)
V1Beta2 = Annotated[ConditionsStatus | None, GROUPED]
V1Beta2Replicas = Annotated[ReplicasStatus | None, GROUPED]

FailureReason = Annotated[
    str | None, rules(same_as="MachineSetV1Beta1DeprecatedStatus.failureReason")
]
FailureMessage = Annotated[
    str | None,
    rules(
        same_as="MachineSetV1Beta1DeprecatedStatus.failureMessage", min_length=1, max_length=10240
    ),
]


def counter(same_as: str = "") -> msgspec.Meta:
    """Return the rules of a number of machines that is written even when it is zero.

    same_as: the field whose description it has, unless that of the same name in the newest version.
    """
    named = {"same_as": same_as} if same_as else {}
    return rules(format="int32", zero="written", **named)


def milestone(field: str) -> Any:
    """Return the type of a flag that is written even when it is false. field: the new one."""
    return Annotated[bool, rules(same_as=field, zero="written")]


def _upgrade_domains(part: Document, _: Document | None, __: Place) -> None:
    """Turn the map `failureDomains` into a list that is sorted by name."""
    if domains := part.pop("failureDomains", None):
        part["failureDomains"] = [
            {
                "name": name,
                "controlPlane": domain.get("controlPlane", False),
                "attributes": domain.get("attributes", {}),
            }
            for name, domain in sorted(domains.items())
        ]


def _downgrade_domains(part: Document, _: Place) -> None:
    """Turn the list `failureDomains` into a map by name."""
    if domains := part.pop("failureDomains", None):
        part["failureDomains"] = {
            domain.get("name", ""): {
                "controlPlane": domain.get("controlPlane", False),
                "attributes": domain.get("attributes", {}),
            }
            for domain in domains
        }


FAILURE_DOMAINS: Final = (
    retype(failure_domains=dict[str, embedded.FailureDomain]),
    custom(_upgrade_domains, _downgrade_domains),
)
"""Failure domains were a map by name."""

DIFFERENCES: Final = (
    Difference(
        embedded.APIEndpoint,
        retype(
            host=Annotated[str, rules(zero="written")], port=Annotated[int, rules(zero="written")]
        ),
    ),
    Difference(embedded.MachineReadinessGate),
    Difference(embedded.MachineAddress),
    Difference(embedded.TemplateMeta),
    Difference(embedded.FailureDomain, drop("name"), retype(control_plane=bool)),
    Difference(
        embedded.ClusterVariable,
        add(
            definition_from=Annotated[
                str,
                rules(
                    "definitionFrom is the origin of the definition of the variable. It is "
                    "deprecated and ignored, because all definitions of a variable must agree. At "
                    "most 256 characters are allowed.",
                    max_length=256,
                ),
            ]
        ),
    ),
)
