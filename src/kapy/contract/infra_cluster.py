"""The InfraCluster contract: one line per rule."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import Field, View, boolean, text
from kapy.contract.values import endpoint, failure_domain_map, failure_domains


class InfraCluster(View):
    """The fields of an infrastructure cluster that core reads."""

    __slots__ = ()

    READY_CONDITION: Final = "Ready"

    control_plane_endpoint = Field("spec.controlPlaneEndpoint", endpoint)
    provisioned = boolean(
        "status.initialization.provisioned", v1beta1="status.ready", mandatory=True
    )
    failure_domains = Field(
        "status.failureDomains", failure_domains, decode_v1beta1=failure_domain_map
    )
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")
