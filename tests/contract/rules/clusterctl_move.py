"""Section 7.4 of the clusterctl provider contract: what `move` does, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.contract.rules.row import Row

DISCOVERY: Final = "clusterctl/move/discovery.py"
KINDS: Final = "clusterctl/move/kinds.py"
GRAPH: Final = "clusterctl/move/graph.py"
COPYING: Final = "clusterctl/move/copying.py"
REMOVAL: Final = "clusterctl/move/removal.py"
PLAN: Final = "clusterctl/move/plan.py"
PAUSING: Final = "clusterctl/move/pausing.py"
ONE_NAMESPACE: Final = "test_only_the_given_namespace_is_moved"
GLOBAL: Final = "test_global_objects_are_created_but_never_updated_nor_removed"
NAMESPACED: Final = "test_namespaced_objects_are_created_or_updated_and_removed"
AT_WORK: Final = "clusterctl/move/test_others_at_work.py"


def _row(names: Sequence[str], lines: Sequence[int], enforcing: Sequence[str], *held: str) -> Row:
    """held: tests; those without a file are in `test_rules.py`."""
    tests = [text if "::" in text else f"clusterctl/move/test_rules.py::{text}" for text in held]
    return Row(names, lines, enforcing, tests)


ROWS: Final = [
    _row(
        ("move-kinds",),
        (321, 323),
        (KINDS, DISCOVERY),
        "test_kinds_with_the_label_of_clusterctl_are_moved",
    ),
    _row(("move-kinds",), (323,), (DISCOVERY,), ONE_NAMESPACE, GLOBAL),
    _row(
        ("move-secrets",),
        (323,),
        (DISCOVERY,),
        "test_the_resources_of_a_resource_set_are_moved",
        ONE_NAMESPACE,
    ),
    _row(
        ("move-secrets",),
        (323,),
        (DISCOVERY,),
        "test_secrets_of_infrastructure_providers_are_moved",
    ),
    _row(("move-owned",), (323, 325), (GRAPH,), "test_descendants_of_a_cluster_are_moved"),
    _row(("move-users",), (325,), (GRAPH,), "test_certificates_of_users_are_moved_by_name"),
    _row(("move-owned",), (325,), (GRAPH,), "test_the_resources_of_a_resource_set_are_moved"),
    _row(
        ("move-labels",),
        (325,),
        (GRAPH, KINDS),
        "test_labels_move_an_object_alone_or_with_its_descendants",
    ),
    _row(("move-labels",), (325,), (KINDS,), "test_labels_of_a_crd_apply_to_all_its_objects"),
    _row(("move-created",), (327, 329), (COPYING,), NAMESPACED),
    _row(("move-created",), (329,), (REMOVAL,), NAMESPACED),
    _row(("move-global",), (329,), (COPYING, PLAN), GLOBAL),
    _row(("move-global",), (329,), (REMOVAL, PLAN), GLOBAL),
    _row(
        ("move-global",),
        (329,),
        (PLAN, GRAPH),
        "test_descendants_of_global_objects_are_moved_like_their_owner",
    ),
    _row(("move-global",), (333,), (PLAN,), GLOBAL),
    _row(
        ("move-left", "owners-told"),
        (335,),
        ("clusterctl/move/checks.py", "clusterctl/move/log.py"),
        "e2e/test_move.py::test_a_cluster_moves_to_another_plane_and_is_reached_there",
    ),
    _row(
        ("move", "move-paused"),
        (337,),
        (PAUSING, "clusterctl/move/removal.py"),
        "test_clusters_and_classes_are_paused_while_something_is_created",
        f"{AT_WORK}::test_a_controller_that_ignores_the_pause_is_reported_and_the_move_undone",
    ),
    _row(
        ("move-blocked",),
        (337,),
        (PAUSING, DISCOVERY),
        f"{AT_WORK}::test_nothing_is_created_while_the_move_is_blocked",
        f"{AT_WORK}::test_an_object_that_blocks_the_move_too_long_is_named",
    ),
    _row(("move-status",), (341,), ("clusterctl/move/content.py",), "test_status_is_not_restored"),
    _row(
        ("status",),
        (343,),
        ("conditions/__init__.py",),
        "e2e/test_move.py::test_a_cluster_moves_to_another_plane_and_is_reached_there",
    ),
]
