"""Contract rules for BootstrapConfig (`../shared/upstream/docs/contracts/bootstrap-config.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import BootstrapConfig
from tests.contract.rules import shared
from tests.contract.rules.rule import Document, Rule
from tests.contract.rules.shared import BROKEN_MACHINES, CONDITIONS, FIELDS, LIVES, SCHEMAS

VIEW: Final = "contract/bootstrap.py"
PHASE: Final = "core/machine/bootstrap.py"
KUBEADM: Final = "providers/kubeadm/bootstrap/controller.py"
STORY: Final = "providers/kubeadm/test_bootstrap_story.py"

RULES: Final = [
    Rule(
        "Contract rules for BootstrapConfig",
        "SHOULD",
        (3,),
        "A bootstrap provider has a BootstrapConfig, which a Machine refers to.",
        (VIEW, "api/kubeadm_config.py"),
        (f"{STORY}::test_exactly_one_machine_runs_init", LIVES),
    ),
    shared.internals((28, 32, 34), "BootstrapConfig"),
    shared.scope((71,)),
    shared.metadata((75,)),
    *shared.api_version((80,), (87,), (125,), (132,), (135,)),
    *shared.definition("BootstrapConfig", (162,), (196, 197)),
    Rule(
        "BootstrapConfig: data secret",
        "MUST",
        (212, 238),
        "Boot data is in a Secret that `status.dataSecretName` names; the Machine takes the name "
        "over. A CRD without the field is refused.",
        (VIEW, PHASE, "providers/kubeadm/bootstrap/data_secret.py"),
        (FIELDS, SCHEMAS, BROKEN_MACHINES, f"{STORY}::test_the_data_secret_gets_its_owner_back"),
    ),
    Rule(
        "BootstrapConfig: initialization completed",
        "MUST",
        (243,),
        "`status.initialization.dataSecretCreated` (v1beta1: `status.ready`) says that it is made.",
        (VIEW, PHASE),
        (FIELDS, SCHEMAS, BROKEN_MACHINES, LIVES),
    ),
    Rule(
        "BootstrapConfig: conditions",
        "SHOULD",
        (293,),
        "`status.conditions` are there; Ready is shown as BootstrapConfigReady of the Machine.",
        ("conditions/foreign.py", "core/machine/status.py"),
        ("core/machine/test_status.py::test_bootstrap", CONDITIONS),
    ),
    Rule(
        "BootstrapConfig: conditions",
        "MUST",
        (322,),
        "Legacy conditions say less: a True one has no reason, and gets a default.",
        ("conditions/foreign.py",),
        (LIVES,),
    ),
    *shared.definition("BootstrapConfigTemplate", (377, 380), (411, 412)),
    Rule(
        "BootstrapConfigTemplate: support for SSA dry run",
        "MUST",
        (432,),
        "A dry run of the topology controller is not refused.",
        ("api/validation/__init__.py",),
        (
            "api/validation/test_infrastructure.py::"
            "test_the_topology_controller_may_ask_what_would_become_of_a_change",
        ),
    ),
    shared.instances((461,)),
    *shared.pausing(
        "BootstrapConfig",
        (474,),
        (476,),
        (f"{STORY}::test_a_paused_cluster_gives_no_boot_data",),
    ),
]

DOCUMENT: Final = Document(
    "bootstrap-config",
    "BootstrapConfig",
    BootstrapConfig,
    "upstream/docs/contracts/bootstrap-config.md",
    r"\bMUST\b|\bSHOULD\b",
    RULES,
)
