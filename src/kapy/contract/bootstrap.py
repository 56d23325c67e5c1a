"""The BootstrapConfig contract: the fields that core reads, each with its rule."""

from __future__ import annotations

from typing import Final

from kapy.contract.fields import FieldRule, View, boolean, text


class BootstrapConfig(View):
    """The fields of a bootstrap config that core reads."""

    __slots__ = ()

    READY_CONDITION: Final = "Ready"

    data_secret_created = boolean(
        "status.initialization.dataSecretCreated",
        v1beta1="status.ready",
        mandatory=True,
        rule=FieldRule(
            "initialization",
            "BootstrapConfig: initialization completed",
            "{field} is there to say that the Secret is made.",
        ),
    )
    data_secret_name = text(
        "status.dataSecretName",
        longest=253,
        mandatory=True,
        rule=FieldRule(
            "data-secret",
            "BootstrapConfig: data secret",
            "{field}, a string, names the Secret with the boot data.",
        ),
    )
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")
