"""The InfraMachinePool contract: the fields that core reads, each with its rule."""

from __future__ import annotations

from typing import Any, Final

from kapy.contract.fields import (
    Field,
    FieldRule,
    Version,
    View,
    boolean,
    integer,
    items,
    kind_of,
    text,
)
from kapy.contract.infra_cluster import PROVISIONED

# Upstream's own core still reads `status.ready` of pools of either contract.
_INITIALIZATION: Final = FieldRule(
    "initialization", "InfraMachinePool: initialization completed", PROVISIONED, any_of=True
)


def _provider_id(value: Any) -> str:
    if not isinstance(value, str) or not value:
        what = "an empty one" if value == "" else kind_of(value)
        raise TypeError(f"expected provider IDs as strings, got {what}")
    return value


class InfraMachinePool(View):
    """The fields of an infrastructure machine pool that core reads.

    infrastructure_machine_kind: the kind of the objects for single machines of the pool, in the
    same API group; without one, machines are known only by their provider IDs.
    """

    __slots__ = ()

    READY_CONDITION: Final = "Ready"

    provider_id_list = Field(
        "spec.providerIDList",
        items(_provider_id),
        mandatory=True,
        rule=FieldRule(
            "provider-id-list",
            "InfraMachinePool: providerIDList",
            "IDs of all machines stand in {field}, a list of strings.",
        ),
        types={version: {"": "array", ".[]": "string"} for version in Version},
    )
    initialized = boolean(
        "status.initialization.provisioned", v1beta1="status.ready", rule=_INITIALIZATION
    )
    ready = boolean("status.ready", rule=_INITIALIZATION)
    replicas = integer(
        "status.replicas",
        mandatory=True,
        rule=FieldRule(
            "replicas",
            "InfraMachinePool: replicas",
            "{field}, a number, says how many machines there are.",
        ),
    )
    infrastructure_machine_kind = text(
        "status.infrastructureMachineKind",
        rule=FieldRule(
            "machine-kind",
            "MachinePoolMachines support",
            "{field}, a string, names the kind of the objects that stand for single machines.",
            when="single machines have objects",
            shown="status.infrastructureMachineKind",
        ),
    )
    failure_reason = text("status.failureReason")
    failure_message = text("status.failureMessage")

    @property
    def provisioned(self) -> bool:
        """Return whether the infrastructure is provisioned.

        Upstream's core still reads `status.ready` in both contracts: providers of the v1beta2
        contract that work with it may report nothing else.
        """
        return bool(self.initialized) or bool(self.ready)
