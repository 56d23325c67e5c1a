"""What a running provider shows of the rules: a check for each of them."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.behaviour import (
    deletion,
    flags,
    infra_machine,
    lifecycle,
    pausing,
)
from kapy.testing.conformance.behaviour.asserted import (
    CLUSTER,
    check_infra_cluster,
    check_infra_machine,
    check_infra_machine_pool,
)
from kapy.testing.conformance.behaviour.check import Check, Look

__all__ = [
    "BEHAVIOUR",
    "CLUSTER",
    "check_infra_cluster",
    "check_infra_machine",
    "check_infra_machine_pool",
]

_EVERY: Final[dict[str, Look]] = {
    "watch": lifecycle.watch,
    "owner": lifecycle.owner,
    "finalizer": lifecycle.finalizer,
    "restored": lifecycle.restored,
    "idle": lifecycle.idle,
    "initialized": flags.initialized,
    "deletion": deletion.deletion,
    "stopped": deletion.stopped,
    "pausing": pausing.pausing,
    "paused-condition": pausing.paused_condition,
}
_MACHINE: Final[dict[str, Look]] = {
    "infrastructure-wait": infra_machine.infrastructure_wait,
    "bootstrap-wait": infra_machine.bootstrap_wait,
    "provider-id-value": infra_machine.provider_id_value,
    "failure-domain": infra_machine.failure_domain,
    "address-types": infra_machine.address_types,
}


def _checks() -> list[Check]:
    found = [Check(f"infra-machine/{name}", look) for name, look in (_EVERY | _MACHINE).items()]
    found.append(Check("infra-machine/deletion", deletion.early_deletion))
    return found


BEHAVIOUR: Final = _checks()
