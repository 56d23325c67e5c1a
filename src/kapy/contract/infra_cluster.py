"""The InfraCluster contract: the fields that core reads, each with its rule."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import Field, FieldRule, Version, View, boolean, field_types, text
from kapy.contract.values import endpoint, failure_domain_map, failure_domains

PROVISIONED: Final = "{field} is there to say that the infrastructure is provisioned."


def endpoint_rule(section: str) -> FieldRule:
    """Return the rule about the endpoint of a control plane, which two contracts have."""
    return FieldRule(
        "endpoint",
        section,
        "The address of the control plane stands in {field}, as host and port.",
        when="the provider makes the endpoint",
        shown="spec.controlPlaneEndpoint",
    )


class InfraCluster(View):
    """The fields of an infrastructure cluster that core reads."""

    __slots__ = ()

    READY_CONDITION: Final = "Ready"

    control_plane_endpoint = Field(
        "spec.controlPlaneEndpoint",
        endpoint,
        rule=endpoint_rule("InfraCluster: control plane endpoint"),
        types=field_types(host="string", port="integer"),
    )
    provisioned = boolean(
        "status.initialization.provisioned",
        v1beta1="status.ready",
        mandatory=True,
        rule=FieldRule("initialization", "InfraCluster: initialization completed", PROVISIONED),
    )
    failure_domains = Field(
        "status.failureDomains",
        failure_domains,
        decode_v1beta1=failure_domain_map,
        rule=FieldRule(
            "failure-domains",
            "InfraCluster: failure domains",
            "Failure domains stand in {field}: a list with unique names (v1beta1: a map).",
            when="the provider has failure domains",
            shown="status.failureDomains",
        ),
        types={
            Version.V1BETA2: {"": "array", ".[].name": "string"},
            Version.V1BETA1: {"": "object"},
        },
    )
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")
