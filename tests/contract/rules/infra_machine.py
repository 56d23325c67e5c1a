"""Contract rules for InfraMachine (`../shared/seeds/infra-machine-contract.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import InfraMachine
from kapy.testing.conformance.rules import infrastructure
from tests.contract.rules import shared
from tests.contract.rules.row import Kept, Row
from tests.contract.rules.shared import (
    BROKEN_MACHINES,
    CONDITIONS,
    FIELDS,
    IN_MEMORY,
    LIVES,
    RELEASED,
    SCHEMAS,
    SDK_MACHINES,
)

VIEW: Final = "contract/infra_machine.py"
PHASE: Final = "core/machine/providers.py"
STATUS: Final = "core/machine/status.py"
SDK: Final = "sdk/infra_machine_controller.py"
MACHINE: Final = "core/machine/test_stories.py"
PROVIDER_ID: Final = "contract/test_broken_providers.py::test_a_provider_id_is_immutable_and_unique"
MIRRORED: Final = "core/machine/test_status.py::test_infrastructure_ready_mirrors_the_provider"

ROWS: Final = [
    Row(
        ("definition",),
        (3,),
        (VIEW, "api/dev_machine.py"),
        (IN_MEMORY, LIVES, RELEASED),
    ),
    shared.internals((28, 32, 34)),
    shared.scope((70,)),
    shared.metadata((74,)),
    *shared.api_version((79,), (86,), (123,), (130,), (133,)),
    *shared.definition((151, 152), (186, 187)),
    Row(
        ("provider-id", "provider-id-value"),
        (203, 207),
        (VIEW, "contract/external.py", SDK),
        (FIELDS, SCHEMAS, BROKEN_MACHINES, SDK_MACHINES),
    ),
    Row(
        ("provider-id-value", "provider-id-taken"),
        (219, 220),
        (PHASE, "core/machine/node.py"),
        (f"{MACHINE}::test_a_machine_mirrors_the_reports_of_its_providers", PROVIDER_ID, RELEASED),
    ),
    Row(
        ("failure-domain",),
        (223, 224, 225),
        ("sdk/infra_machine.py", SDK),
        (
            "providers/kubeadm/test_control_plane_story.py::"
            "test_machines_spread_over_failure_domains",
            LIVES,
        ),
    ),
    Row(
        ("failure-domain-taken",),
        (231, 232),
        (VIEW, PHASE),
        (f"{MACHINE}::test_a_machine_mirrors_the_reports_of_its_providers", BROKEN_MACHINES),
    ),
    Row(
        ("failure-domain-status", "failure-domain-taken"),
        (239, 241, 242, 243),
        (VIEW, PHASE),
        (f"{MACHINE}::test_a_machine_mirrors_the_reports_of_its_providers", LIVES),
    ),
    Row(("addresses",), (263,), (VIEW, "sdk/results.py"), (FIELDS, LIVES, RELEASED)),
    Row(
        ("address-types", "broken-told"),
        (276,),
        ("contract/values.py", "contract/limits.py"),
        (BROKEN_MACHINES, LIVES),
    ),
    Row(
        ("addresses-taken",),
        (278, 279),
        (PHASE,),
        (f"{MACHINE}::test_a_machine_mirrors_the_reports_of_its_providers", LIVES),
    ),
    Row(
        ("initialization",),
        (283,),
        (VIEW, "contract/external.py"),
        (FIELDS, SCHEMAS, LIVES, RELEASED),
    ),
    Row(
        ("initialized", "initialized-taken"),
        (300, 301, 302),
        (PHASE,),
        (f"{MACHINE}::test_a_machine_mirrors_the_reports_of_its_providers", RELEASED),
    ),
    Row(("initialization",), (308, 309), (VIEW, SDK), (FIELDS, SCHEMAS, LIVES, SDK_MACHINES)),
    Row(("conditions",), (320,), ("conditions/foreign.py", STATUS), (MIRRORED, LIVES)),
    Row(
        ("conditions", "conditions-read"),
        (321,),
        ("conditions/foreign.py",),
        (LIVES, RELEASED, CONDITIONS),
    ),
    Row(
        ("conditions-shown",),
        (323, 325),
        (STATUS, "conditions/mirror.py"),
        (MIRRORED, RELEASED, f"{MACHINE}::test_infrastructure_that_vanishes_is_reported"),
    ),
    Row(
        ("conditions-read",),
        (338, 339, 341, 342, 343, 344, 345, 347),
        ("conditions/foreign.py", "conditions/mirror.py"),
        (LIVES, CONDITIONS, MIRRORED),
    ),
    Row(
        ("legacy-conditions", "conditions-read"),
        (350,),
        ("conditions/foreign.py", STATUS),
        (LIVES, RELEASED),
    ),
    Row(
        ("terminal-failures",),
        (357, 365, 373),
        (VIEW,),
        ("core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept",),
    ),
    Row(
        ("failures-taken",),
        (384, 385, 387),
        ("core/machine/status_v1beta1.py",),
        ("core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept",),
    ),
    *shared.template((402, 405), (436, 437)),
    Row(
        ("ssa-dry-run", "immutable"),
        (457,),
        ("api/validation/__init__.py",),
        (
            "api/validation/test_infrastructure.py::"
            "test_the_topology_controller_may_dry_run_forbidden_changes",
        ),
    ),
    shared.instances((478,)),
    *shared.pausing(
        (491,),
        (493,),
        (
            "sdk/test_infra_machine.py::test_a_paused_cluster_stops_everything_even_deletion",
            "providers/inmemory/test_life.py::test_a_paused_machine_does_not_start",
            f"{MACHINE}::test_a_paused_machine_says_why",
        ),
    ),
    Row(
        ("watch",),
        (497, 498),
        ("sdk/infra_machine_watches.py",),
        ("sdk/test_infra_machine.py::test_a_machine_becomes_ready_and_reports_its_obstacles",),
    ),
    Row(
        ("owner", "infrastructure-wait", "bootstrap-wait", "deletion"),
        (515, 516),
        (SDK,),
        (
            "sdk/test_infra_machine.py::test_a_machine_without_an_owner_is_left_alone_until_it_is_released",
            "sdk/test_infra_machine.py::test_a_machine_becomes_ready_and_reports_its_obstacles",
            "providers/inmemory/test_life.py::test_a_machine_reports_the_prerequisites_of_its_start",
            "providers/inmemory/test_life.py::test_deletion_leaves_nothing_behind",
        ),
    ),
]

KEPT: Final = Kept(
    infrastructure.MACHINE,
    InfraMachine,
    "seeds/infra-machine-contract.md",
    r"\bMUST\b|\bSHOULD\b|\bmust\b|\bshould\b",
    ROWS,
)
