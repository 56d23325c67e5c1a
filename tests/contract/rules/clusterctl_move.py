"""Section 7.4 of the clusterctl provider contract: what `move` does, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.contract.rules.rule import Level, Rule

DISCOVERY: Final = "clusterctl/move/discovery.py"
KINDS: Final = "clusterctl/move/kinds.py"
GRAPH: Final = "clusterctl/move/graph.py"
COPYING: Final = "clusterctl/move/copying.py"
REMOVAL: Final = "clusterctl/move/removal.py"
PLAN: Final = "clusterctl/move/plan.py"
PAUSING: Final = "clusterctl/move/pausing.py"
ONE_NAMESPACE: Final = "test_only_the_namespace_that_is_moved"
GLOBAL: Final = "test_global_objects_are_created_but_never_updated_nor_removed"
NAMESPACED: Final = "test_namespaced_objects_are_created_or_updated_and_removed"
AT_WORK: Final = "clusterctl/move/test_others_at_work.py"


def _rule(
    lines: Sequence[int], says: str, kept: Sequence[str], *held: str, level: Level = "kapy"
) -> Rule:
    """held: tests; those without a file are in `test_rules.py`."""
    tests = [one if "::" in one else f"clusterctl/move/test_rules.py::{one}" for one in held]
    return Rule("7.4 Move", level, lines, says, kept, tests)


RULES: Final = [
    _rule(
        (321, 323),
        "Considered are the kinds whose CRD has the label `clusterctl.cluster.x-k8s.io`.",
        (KINDS, DISCOVERY),
        "test_kinds_whose_crd_has_the_label_of_clusterctl",
    ),
    _rule(
        (323,),
        "Of a namespaced kind, all objects of the namespace; of another, all objects.",
        (DISCOVERY,),
        ONE_NAMESPACE,
        GLOBAL,
    ),
    _rule(
        (323,),
        "All ConfigMaps and Secrets of the namespace.",
        (DISCOVERY,),
        "test_what_hangs_below_a_resource_set",
        ONE_NAMESPACE,
    ),
    _rule(
        (323,),
        "The Secrets of the namespaces where infrastructure providers are installed.",
        (DISCOVERY,),
        "test_secrets_where_infrastructure_providers_are_installed",
    ),
    _rule(
        (323, 325),
        "Moved is what leads to a Cluster by owner references, however far.",
        (GRAPH,),
        "test_what_hangs_below_a_cluster",
    ),
    _rule(
        (325,),
        "A Secret with a certificate that a user made, by its name.",
        (GRAPH,),
        "test_certificates_that_a_user_made_by_their_names",
    ),
    _rule(
        (325,),
        "What leads to a ClusterResourceSet.",
        (GRAPH,),
        "test_what_hangs_below_a_resource_set",
    ),
    _rule(
        (325,),
        "What leads to an object with the label `clusterctl.cluster.x-k8s.io/move-hierarchy`, and "
        "what has that label or `clusterctl.cluster.x-k8s.io/move`.",
        (GRAPH, KINDS),
        "test_a_label_moves_an_object_and_another_what_it_owns",
    ),
    _rule(
        (325,),
        "On a CRD, both labels are those of all its objects.",
        (KINDS,),
        "test_on_a_crd_the_labels_are_of_all_its_objects",
    ),
    _rule(
        (327, 329),
        "Namespaced objects are created in the target, or updated where they are there already.",
        (COPYING,),
        NAMESPACED,
    ),
    _rule((329,), "Namespaced objects are removed from the source.", (REMOVAL,), NAMESPACED),
    _rule(
        (329,),
        "Global objects are created where they are not there, and never updated.",
        (COPYING, PLAN),
        GLOBAL,
    ),
    _rule((329,), "Global objects are not removed from the source.", (REMOVAL, PLAN), GLOBAL),
    _rule(
        (329,),
        "Namespaced objects below a global one are treated as global ones.",
        (PLAN, GRAPH),
        "test_what_hangs_below_global_objects_is_treated_as_they_are",
    ),
    _rule(
        (333,),
        "An object of a global kind with the label is copied; the user removes it at the source.",
        (PLAN,),
        GLOBAL,
    ),
    _rule(
        (335,),
        "What is left behind is named, with the reason, so that it can be moved by hand.",
        ("clusterctl/move/refusals.py", "clusterctl/move/tell.py"),
        "e2e/test_move.py::test_a_cluster_moves_to_another_plane_and_is_reached_there",
    ),
    _rule(
        (337,),
        "Controllers respect `spec.paused` of a Cluster, which is set while objects are created; "
        "one that does not is told, and the move is undone.",
        (PAUSING, "clusterctl/move/verification.py"),
        "test_clusters_and_classes_are_paused_while_something_is_created",
        f"{AT_WORK}::test_a_controller_that_ignores_the_pause_is_told_and_the_move_undone",
        level="MUST",
    ),
    _rule(
        (337,),
        "Nothing is created in the target while an object to be moved has the annotation "
        "`clusterctl.cluster.x-k8s.io/block-move`.",
        (PAUSING, DISCOVERY),
        f"{AT_WORK}::test_nothing_is_created_while_somebody_blocks_the_move",
        f"{AT_WORK}::test_who_blocks_for_too_long_is_named",
    ),
    _rule(
        (341,),
        "Status is never restored.",
        ("clusterctl/move/content.py",),
        "test_status_is_not_restored",
    ),
    _rule(
        (343,),
        "Status holds nothing that cannot be found out again: kapy's own controllers find it out, "
        "and a moved Cluster is Available again.",
        ("conditions/__init__.py",),
        "e2e/test_move.py::test_a_cluster_moves_to_another_plane_and_is_reached_there",
        level="SHOULD",
    ),
]
