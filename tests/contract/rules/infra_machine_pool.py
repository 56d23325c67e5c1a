"""Rules for InfraMachinePool (`../shared/upstream/docs/contracts/infra-machinepool.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract.infra_machine_pool import InfraMachinePool
from tests.contract.rules import shared
from tests.contract.rules.rule import Document, Rule
from tests.contract.rules.shared import CONDITIONS

VIEW: Final = "contract/infra_machine_pool.py"
PHASE: Final = "core/machinepool/infrastructure.py"
STORY: Final = "core/machinepool/test_stories.py"
WAITS: Final = f"{STORY}::test_a_pool_waits_for_its_providers_and_owns_what_they_work_on"
FOLLOWS: Final = f"{STORY}::test_a_pool_follows_its_provider_from_0_to_3_to_1_to_0"
BROKEN: Final = f"{STORY}::test_a_provider_that_breaks_the_contract_is_named_with_the_field"

RULES: Final = [
    shared.internals((24, 28, 30), "InfraMachinePool"),
    shared.scope((68,)),
    shared.metadata((72,)),
    *shared.api_version((77,), (84,), (121,), (128,), (131,)),
    *shared.definition("InfraMachinePool", (158,), (194, 195)),
    Rule(
        "MachinePoolMachines support",
        "MUST",
        (251,),
        "`status.infrastructureMachineKind` says that each replica has an InfraMachine of that "
        "kind; each gets a Machine.",
        (VIEW, "core/machinepool/machines.py"),
        (f"{STORY}::test_each_machine_of_the_provider_gets_a_machine",),
    ),
    Rule(
        "InfraMachinePool: providerIDList",
        "MUST",
        (294, 311),
        "`spec.providerIDList` lists the instances and is kept up to date; Nodes follow it.",
        (VIEW, "core/machinepool/nodes.py"),
        (FOLLOWS, BROKEN, f"{STORY}::test_a_pool_runs_when_its_machines_are_nodes"),
    ),
    Rule(
        "InfraMachinePool: initialization completed",
        "MUST",
        (315,),
        "`status.initialization.provisioned` (v1beta1: `status.ready`) says that all is there, and "
        "is never taken back.",
        (VIEW, PHASE),
        (
            WAITS,
            f"{STORY}::test_provisioned_is_never_taken_back",
            f"{STORY}::test_a_provider_of_the_old_contract_serves_as_well",
        ),
    ),
    *shared.pausing(
        "InfraMachinePool",
        (356,),
        (358,),
        (f"{STORY}::test_a_paused_pool_does_nothing_but_say_so",),
    ),
    Rule(
        "InfraMachinePool: conditions",
        "SHOULD",
        (365,),
        "`status.conditions` are there; Ready is shown as InfrastructureReady of the MachinePool.",
        ("conditions/foreign.py",),
        (f"{STORY}::test_the_provider_s_ready_is_mirrored", CONDITIONS),
    ),
    Rule(
        "InfraMachinePool: conditions",
        "MUST",
        (394,),
        "Legacy conditions are read as well.",
        ("conditions/foreign.py",),
        (f"{STORY}::test_a_provider_of_the_old_contract_serves_as_well",),
    ),
    Rule(
        "InfraMachinePool: replicas",
        "MUST",
        (401,),
        "`status.replicas` is the number of instances, and that of the MachinePool.",
        (VIEW, PHASE),
        (FOLLOWS,),
    ),
    Rule(
        "InfraMachinePoolTemplate, InfraMachinePoolTemplateList resource definition",
        "SHOULD",
        (440, 471, 472),
        "There is a template kind, and its list.",
        ("api/dev_machine_pool.py",),
        (shared.DEFINITIONS,),
    ),
    Rule(
        "InfraMachinePoolTemplate: support for SSA dry run",
        "MUST",
        (492,),
        "A dry run of the topology controller is not refused.",
        ("api/validation/__init__.py",),
        (
            "api/validation/test_infrastructure.py::"
            "test_the_topology_controller_may_ask_what_would_become_of_a_change",
        ),
    ),
    shared.instances((511,)),
]

DOCUMENT: Final = Document(
    "infra-machinepool",
    "InfraMachinePool",
    InfraMachinePool,
    "upstream/docs/contracts/infra-machinepool.md",
    r"\bMUST\b|\bSHOULD\b",
    RULES,
)
