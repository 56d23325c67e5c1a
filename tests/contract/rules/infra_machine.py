"""Contract rules for InfraMachine (`../shared/seeds/infra-machine-contract.md`)."""

from __future__ import annotations

from typing import Final

from kapy.contract import InfraMachine
from tests.contract.rules import shared
from tests.contract.rules.rule import Document, Rule
from tests.contract.rules.shared import (
    BROKEN_MACHINES,
    CONDITIONS,
    DEFINITIONS,
    FIELDS,
    LIVES,
    RELEASED,
    SCHEMAS,
    SDK_MACHINES,
)

VIEW: Final = "contract/infra_machine.py"
PHASE: Final = "core/machine/infrastructure.py"
STATUS: Final = "core/machine/status.py"
SDK: Final = "sdk/infra_machine_controller.py"
MACHINE: Final = "core/machine/test_stories.py"
PROVIDER_ID: Final = (
    "contract/test_broken_providers.py::"
    "test_a_provider_id_stays_what_it_is_and_belongs_to_one_machine"
)
MIRRORED: Final = "core/machine/test_status.py::test_infrastructure"

RULES: Final = [
    Rule(
        "Contract rules for InfraMachine",
        "SHOULD",
        (3,),
        "An infrastructure provider has an InfraMachine, which a Machine refers to.",
        (VIEW, "api/dev_machine.py"),
        ("providers/inmemory/test_conformance.py::test_dev_machines_conform", LIVES, RELEASED),
    ),
    shared.internals((28, 32, 34), "InfraMachine"),
    shared.scope((70,)),
    shared.metadata((74,)),
    *shared.api_version((79,), (86,), (123,), (130,), (133,)),
    *shared.definition("InfraMachine", (151, 152), (186, 187)),
    Rule(
        "InfraMachine: provider ID",
        "MUST",
        (203, 207),
        "The Node's provider ID stands in `spec.providerID`; a CRD without the field is refused.",
        (VIEW, "contract/definitions.py", SDK),
        (FIELDS, SCHEMAS, BROKEN_MACHINES, SDK_MACHINES),
    ),
    Rule(
        "InfraMachine: provider ID",
        "core",
        (219, 220),
        "When the machine is provisioned, the Machine takes the provider ID over, and its Node is "
        "found by it. It does not change under a Node, and belongs to one Machine.",
        (PHASE, "core/machine/node.py"),
        (f"{MACHINE}::test_a_machine_takes_over_what_its_providers_report", PROVIDER_ID, RELEASED),
    ),
    Rule(
        "InfraMachine: failure domain",
        "MUST",
        (223, 224, 225),
        "A machine is put into the failure domain that its Machine names.",
        ("sdk/infra_machine.py", SDK),
        (
            "providers/kubeadm/test_control_plane_story.py::"
            "test_machines_spread_over_failure_domains",
            LIVES,
        ),
    ),
    Rule(
        "InfraMachine: failure domain",
        "core",
        (231, 232),
        "Deprecated: `spec.failureDomain` of the InfraMachine becomes that of the Machine.",
        (VIEW, PHASE),
        (f"{MACHINE}::test_a_machine_takes_over_what_its_providers_report", BROKEN_MACHINES),
    ),
    Rule(
        "InfraMachine: failure domain (v1beta2)",
        "core",
        (239, 241, 242, 243),
        "`status.failureDomain` says where the machine really is; it becomes "
        "`status.failureDomain` of the Machine. (v1.14 still reads the deprecated field, too.)",
        (VIEW, PHASE),
        (f"{MACHINE}::test_a_machine_takes_over_what_its_providers_report", LIVES),
    ),
    Rule(
        "InfraMachine: addresses",
        "MUST",
        (263,),
        "Addresses, if any are told, stand in `status.addresses`.",
        (VIEW, "sdk/answers.py"),
        (FIELDS, LIVES, RELEASED),
    ),
    Rule(
        "InfraMachine: addresses",
        "MUST",
        (276,),
        "An address has one of five types; another one is named in a condition.",
        ("contract/values.py", "contract/limits.py"),
        (BROKEN_MACHINES, LIVES),
    ),
    Rule(
        "InfraMachine: addresses",
        "core",
        (278, 279),
        "When the machine is provisioned, `status.addresses` of the Machine are the same.",
        (PHASE,),
        (f"{MACHINE}::test_a_machine_takes_over_what_its_providers_report", LIVES),
    ),
    Rule(
        "InfraMachine: initialization completed",
        "MUST",
        (283,),
        "`status.ready` says that the infrastructure is provisioned.",
        (VIEW, "contract/definitions.py"),
        (FIELDS, SCHEMAS, LIVES, RELEASED),
    ),
    Rule(
        "InfraMachine: initialization completed",
        "core",
        (300, 301, 302),
        "The Machine then is `infrastructureProvisioned`, which is never taken back, and takes "
        "over provider ID and addresses at the same time.",
        (PHASE,),
        (f"{MACHINE}::test_a_machine_takes_over_what_its_providers_report", RELEASED),
    ),
    Rule(
        "InfraMachine: initialization completed (v1beta2)",
        "core",
        (308, 309),
        "In objects of that contract, `status.initialization.provisioned` is read instead.",
        (VIEW, SDK),
        (FIELDS, SCHEMAS, LIVES, SDK_MACHINES),
    ),
    Rule(
        "InfraMachine: conditions",
        "SHOULD",
        (320,),
        "`status.conditions` are there; where they are not, the flag above stands in for Ready.",
        ("conditions/foreign.py", STATUS),
        (MIRRORED, LIVES),
    ),
    Rule(
        "InfraMachine: conditions",
        "MUST",
        (321,),
        "Conditions have Cluster API's legacy type (with a severity), which is read.",
        ("conditions/foreign.py",),
        (LIVES, RELEASED, CONDITIONS),
    ),
    Rule(
        "InfraMachine: conditions",
        "core",
        (323, 325),
        "Ready is shown as InfrastructureReady of the Machine, from the first day to the last.",
        (STATUS, "conditions/mirror.py"),
        (MIRRORED, RELEASED, f"{MACHINE}::test_infrastructure_that_vanishes_is_reported"),
    ),
    Rule(
        "InfraMachine: conditions (v1beta2)",
        "core",
        (338, 339, 341, 342, 343, 344, 345, 347),
        "Type and status are needed; reason, message and time are filled in; all else is ignored.",
        ("conditions/foreign.py", "conditions/mirror.py"),
        (LIVES, CONDITIONS, MIRRORED),
    ),
    Rule(
        "InfraMachine: conditions (v1beta2)",
        "MUST",
        (350,),
        "Legacy conditions say less: a True one has no reason, and gets a default.",
        ("conditions/foreign.py", STATUS),
        (LIVES, RELEASED),
    ),
    Rule(
        "InfraMachine: terminal failures",
        "SHOULD",
        (357, 365, 373),
        "`status.failureReason` and `status.failureMessage` tell of what cannot be recovered.",
        (VIEW,),
        ("core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept",),
    ),
    Rule(
        "InfraMachine: terminal failures",
        "core",
        (384, 385, 387),
        "The Machine keeps both (in `status.deprecated.v1beta1`) for as long as it lives.",
        ("core/machine/status_v1beta1.py",),
        ("core/machine/test_status_v1beta1.py::test_terminal_failures_are_kept",),
    ),
    *shared.definition("InfraMachineTemplate", (402, 405), (436, 437)),
    Rule(
        "InfraMachineTemplate: support for SSA dry run",
        "MUST",
        (457,),
        "A server-side apply that is a dry run of the topology controller is not refused for being "
        "a change of an immutable template: the in-tree templates let it through.",
        ("api/validation/__init__.py",),
        (
            "api/validation/test_infrastructure.py::"
            "test_the_topology_controller_may_ask_what_would_become_of_a_change",
        ),
    ),
    shared.instances((478,)),
    Rule(
        "Clusterctl support",
        "SHOULD",
        (487,),
        "The CRDs of a release are taken as they are.",
        ("api/crds.py",),
        (DEFINITIONS, RELEASED),
    ),
    *shared.pausing(
        "InfraMachine",
        (491,),
        (493,),
        (
            "sdk/test_infra_machine.py::test_a_paused_cluster_stops_everything_even_deletion",
            "providers/inmemory/test_life.py::test_a_paused_machine_does_not_start",
            f"{MACHINE}::test_a_paused_machine_says_why",
        ),
    ),
    Rule(
        "Typical reconciliation workflow",
        "MUST",
        (497, 498),
        "Changes of InfraMachines, and of what they wait for, are watched.",
        ("sdk/infra_machine_watches.py",),
        ("sdk/test_infra_machine.py::test_a_machine_becomes_ready_and_says_what_it_waits_for",),
    ),
    Rule(
        "Typical reconciliation workflow",
        "SHOULD",
        (515, 516),
        "Without a Machine nothing happens; without the cluster's infrastructure no machine is "
        "started, but one can be deleted.",
        (SDK,),
        (
            "sdk/test_infra_machine.py::test_a_machine_that_is_nobodys_is_left_alone_and_let_go",
            "sdk/test_infra_machine.py::test_a_machine_becomes_ready_and_says_what_it_waits_for",
            "providers/inmemory/test_life.py::test_what_a_machine_waits_for_before_it_starts",
            "providers/inmemory/test_life.py::test_deletion_leaves_nothing_behind",
        ),
    ),
]

DOCUMENT: Final = Document(
    "infra-machine",
    "InfraMachine",
    InfraMachine,
    "seeds/infra-machine-contract.md",
    r"\bMUST\b|\bSHOULD\b|\bmust\b|\bshould\b",
    RULES,
)
