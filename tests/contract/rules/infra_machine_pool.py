"""Rules for InfraMachinePool (`../shared/upstream/docs/contracts/infra-machinepool.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract.infra_machine_pool import InfraMachinePool
from kapy.testing.conformance.rules import infrastructure
from tests.contract.rules import shared
from tests.contract.rules.row import Kept, Row
from tests.contract.rules.shared import CONDITIONS

VIEW: Final = "contract/infra_machine_pool.py"
PHASE: Final = "core/machinepool/providers.py"
STORY: Final = "core/machinepool/test_stories.py"
WAITS: Final = f"{STORY}::test_a_pool_waits_for_its_providers_and_owns_their_objects"
FOLLOWS: Final = f"{STORY}::test_a_pool_follows_its_provider_from_0_to_3_to_1_to_0"
BROKEN: Final = f"{STORY}::test_a_provider_that_breaks_the_contract_is_named_with_the_field"

ROWS: Final = [
    shared.internals((24, 28, 30)),
    shared.scope((68,)),
    shared.metadata((72,)),
    *shared.api_version((77,), (84,), (121,), (128,), (131,)),
    *shared.definition((158,), (194, 195)),
    Row(
        ("machine-kind", "machines", "machines-made"),
        (251,),
        (VIEW, "core/machinepool/machines.py"),
        (f"{STORY}::test_each_machine_of_the_provider_gets_a_machine",),
    ),
    Row(
        ("provider-id-list", "provider-ids", "provider-ids-taken"),
        (294, 311),
        (VIEW, "core/machinepool/nodes.py"),
        (FOLLOWS, BROKEN, f"{STORY}::test_a_pool_runs_when_its_machines_are_nodes"),
    ),
    Row(
        ("initialization", "initialized", "initialized-taken"),
        (315,),
        (VIEW, PHASE),
        (
            WAITS,
            f"{STORY}::test_provisioned_is_never_taken_back",
            f"{STORY}::test_a_provider_of_the_old_contract_works_too",
        ),
    ),
    *shared.pausing(
        (356,),
        (358,),
        (f"{STORY}::test_a_paused_pool_only_reports_that_it_is_paused",),
    ),
    Row(
        ("conditions", "conditions-shown"),
        (365,),
        ("conditions/foreign.py",),
        (f"{STORY}::test_the_provider_s_ready_is_mirrored", CONDITIONS),
    ),
    Row(
        ("legacy-conditions", "conditions-read"),
        (394,),
        ("conditions/foreign.py",),
        (f"{STORY}::test_a_provider_of_the_old_contract_works_too",),
    ),
    Row(
        ("replicas", "replicas-taken"),
        (401,),
        (VIEW, PHASE),
        (FOLLOWS,),
    ),
    Row(
        ("failures-taken",),
        (),
        (VIEW, "core/machinepool/providers.py"),
        (f"{STORY}::test_terminal_failures_persist_and_lost_infrastructure_is_one",),
    ),
    Row(
        ("template", "template-list"),
        (440, 471, 472),
        ("api/dev_machine_pool.py",),
        (shared.DEFINITIONS,),
    ),
    Row(
        ("ssa-dry-run", "immutable"),
        (492,),
        ("api/validation/__init__.py",),
        (
            "api/validation/test_infrastructure.py::"
            "test_the_topology_controller_may_dry_run_forbidden_changes",
        ),
    ),
    shared.instances((511,)),
]

KEPT: Final = Kept(
    infrastructure.POOL,
    InfraMachinePool,
    "upstream/docs/contracts/infra-machinepool.md",
    r"\bMUST\b|\bSHOULD\b",
    ROWS,
)
