"""The InfraMachine contract: the fields that core reads, each with its rule."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import Field, FieldRule, Level, View, boolean, field_types, items, text
from kapy.contract.infra_cluster import PROVISIONED
from kapy.contract.values import address


class InfraMachine(View):
    """The fields of an infrastructure machine that core reads."""

    __slots__ = ()

    READY_CONDITION: Final = "Ready"

    provider_id = text(
        "spec.providerID",
        longest=512,
        mandatory=True,
        rule=FieldRule(
            "provider-id",
            "InfraMachine: provider ID",
            "The provider ID of the Node stands in {field}, a string.",
        ),
    )
    provisioned = boolean(
        "status.initialization.provisioned",
        v1beta1="status.ready",
        mandatory=True,
        rule=FieldRule("initialization", "InfraMachine: initialization completed", PROVISIONED),
    )
    failure_domain = text(
        "status.failureDomain",
        longest=256,
        rule=FieldRule(
            "failure-domain-status",
            "InfraMachine: failure domain",
            "Where the machine really is may be told in {field}, a string.",
            Level.MAY,
            "CRDs have status.failureDomain",
            shown="status.failureDomain",
        ),
    )
    spec_failure_domain = text("spec.failureDomain", longest=256)
    addresses = Field(
        "status.addresses",
        items(address),
        rule=FieldRule(
            "addresses",
            "InfraMachine: addresses",
            "Addresses stand in {field}, a list of type and address.",
            when="the provider tells addresses",
            shown="status.addresses",
        ),
        types=field_types("array", type="string", address="string"),
    )
    interruptible = boolean("status.interruptible")
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")
