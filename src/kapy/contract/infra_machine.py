"""The InfraMachine contract: one line per rule."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import Field, View, boolean, items, text
from kapy.contract.values import address


class InfraMachine(View):
    """The fields of an infrastructure machine that core reads."""

    __slots__ = ()

    READY_CONDITION: Final = "Ready"

    provider_id = text("spec.providerID", longest=512, mandatory=True)
    provisioned = boolean(
        "status.initialization.provisioned", v1beta1="status.ready", mandatory=True
    )
    failure_domain = text("status.failureDomain", longest=256)
    spec_failure_domain = text("spec.failureDomain", longest=256)
    addresses = Field("status.addresses", items(address))
    interruptible = boolean("status.interruptible")
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")
