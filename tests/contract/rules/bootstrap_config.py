"""Contract rules for BootstrapConfig (`../shared/upstream/docs/contracts/bootstrap-config.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import BootstrapConfig
from kapy.testing.conformance.rules import bootstrap_config
from tests.contract.rules import shared
from tests.contract.rules.row import Kept, Row
from tests.contract.rules.shared import BROKEN_MACHINES, CONDITIONS, FIELDS, LIVES, SCHEMAS

VIEW: Final = "contract/bootstrap.py"
PHASE: Final = "core/machine/providers.py"
KUBEADM: Final = "providers/kubeadm/bootstrap/controller.py"
STORY: Final = "providers/kubeadm/test_bootstrap_story.py"

ROWS: Final = [
    Row(
        ("definition",),
        (3,),
        (VIEW, "api/kubeadm_config.py"),
        (f"{STORY}::test_exactly_one_machine_runs_init", LIVES),
    ),
    shared.internals((28, 32, 34)),
    shared.scope((71,)),
    shared.metadata((75,)),
    *shared.api_version((80,), (87,), (125,), (132,), (135,)),
    *shared.definition((162,), (196, 197)),
    Row(
        ("data-secret", "data-secret-taken", "broken-told"),
        (212, 238),
        (VIEW, PHASE, "providers/kubeadm/bootstrap/generation.py"),
        (FIELDS, SCHEMAS, BROKEN_MACHINES, f"{STORY}::test_the_data_secret_gets_its_owner_back"),
    ),
    Row(
        ("initialization", "initialized-taken"),
        (243,),
        (VIEW, PHASE),
        (FIELDS, SCHEMAS, BROKEN_MACHINES, LIVES),
    ),
    Row(
        ("conditions", "conditions-shown"),
        (293,),
        ("conditions/foreign.py", "core/machine/status.py"),
        (
            "core/machine/test_status.py::test_bootstrap_config_ready_mirrors_the_provider",
            CONDITIONS,
        ),
    ),
    Row(
        ("legacy-conditions", "conditions-read"),
        (322,),
        ("conditions/foreign.py",),
        (LIVES,),
    ),
    Row(
        ("failures-taken",),
        (),
        ("core/machine/status_v1beta1.py",),
        ("core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept",),
    ),
    *shared.template((377, 380), (411, 412)),
    Row(
        ("ssa-dry-run", "immutable"),
        (432,),
        ("api/validation/__init__.py",),
        (
            "api/validation/test_infrastructure.py::"
            "test_the_topology_controller_may_dry_run_forbidden_changes",
        ),
    ),
    shared.instances((461,)),
    *shared.pausing(
        (474,),
        (476,),
        (f"{STORY}::test_a_paused_cluster_gives_no_boot_data",),
    ),
]

KEPT: Final = Kept(
    bootstrap_config.DOCUMENT,
    BootstrapConfig,
    "upstream/docs/contracts/bootstrap-config.md",
    r"\bMUST\b|\bSHOULD\b",
    ROWS,
)
