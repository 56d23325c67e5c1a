"""Promises of `clusterctl move`, broken rule by rule."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break

_RULES: Final = "clusterctl/move/test_rules.py"
_AT_WORK: Final = "clusterctl/move/test_others_at_work.py"

MOVE: Final = (
    Break(
        "what is left behind is not named",
        "clusterctl/move/plan.py",
        "nodes = [node for node in graph.nodes.values() if node.ref not in plan.objects]",
        "nodes = list[Node]()",
        {
            f"{_RULES}::test_a_dry_run_names_the_objects_left_behind_with_the_reason": (
                "clusterctl/owners-told",
                "clusterctl/move-left",
            )
        },
    ),
    Break(
        "kinds of CRDs without the label are moved",
        "clusterctl/move/kinds.py",
        "client.list(CRDS, labels=CLUSTERCTL_LABEL)",
        "client.list(CRDS)",
        {
            f"{_RULES}::test_kinds_with_the_label_of_clusterctl_are_moved": (
                "clusterctl/move-kinds",
            )
        },
    ),
    Break(
        "objects of other namespaces are moved",
        "clusterctl/move/discovery.py",
        "places = [(moved_kind.resource, namespace) for moved_kind in kinds.values()]",
        'places = [(moved_kind.resource, "") for moved_kind in kinds.values()]',
        {f"{_RULES}::test_only_the_given_namespace_is_moved": ("clusterctl/move-kinds",)},
    ),
    Break(
        "Secrets where infrastructure providers are installed are not looked at",
        "clusterctl/move/discovery.py",
        "more = elsewhere if resource is SECRETS else []",
        "more = list[Document]()",
        {
            f"{_RULES}::test_secrets_of_infrastructure_providers_are_moved": (
                "clusterctl/move-secrets",
            )
        },
    ),
    Break(
        "ConfigMaps are not looked at",
        "clusterctl/move/kinds.py",
        "for resource in (SECRETS, CONFIG_MAPS):",
        "for resource in (SECRETS,):",
        {f"{_RULES}::test_the_resources_of_a_resource_set_are_moved": ("clusterctl/move-secrets",)},
    ),
    Break(
        "what an owned object owns is not moved",
        "clusterctl/move/graph.py",
        "            waiting += node.dependents\n            waiting += node.soft_dependents\n",
        "            waiting += node.dependents if node is root else ()\n"
        "            waiting += node.soft_dependents if node is root else ()\n",
        {
            f"{_RULES}::test_descendants_of_a_cluster_are_moved": (
                "clusterctl/move-owned",
                "clusterctl/owners",
            )
        },
    ),
    Break(
        "certificates that a user made stay",
        "clusterctl/move/graph.py",
        ("            if not node.owners:\n                _add_soft_owner(node, clusters"),
        ("            if node.owners:\n                _add_soft_owner(node, clusters"),
        {f"{_RULES}::test_certificates_of_users_are_moved_by_name": ("clusterctl/move-users",)},
    ),
    Break(
        "the label of an object does not move it",
        "clusterctl/move/graph.py",
        "bool(self.roots) or self._has_label(MOVE) or",
        "bool(self.roots) or",
        {
            f"{_RULES}::test_labels_move_an_object_alone_or_with_its_descendants": (
                "clusterctl/move-labels",
            )
        },
    ),
    Break(
        "the label of a CRD moves none of its objects",
        "clusterctl/move/kinds.py",
        "hierarchy or MOVE in labels, hierarchy",
        "hierarchy, hierarchy",
        {f"{_RULES}::test_labels_of_a_crd_apply_to_all_its_objects": ("clusterctl/move-labels",)},
    ),
    Break(
        "what is there is not updated",
        "clusterctl/move/copying.py",
        "elif not new and _differs(self._desired_object(planned), deletion):",
        "elif False:",
        {
            f"{_RULES}::test_namespaced_objects_are_created_or_updated_and_removed": (
                "clusterctl/move-created",
            )
        },
    ),
    Break(
        "global objects are updated and removed",
        "clusterctl/move/plan.py",
        "if node.is_global or node.below_global:",
        "if False:",
        {
            f"{_RULES}::test_global_objects_are_created_but_never_updated_nor_removed": (
                "clusterctl/move-global",
            )
        },
    ),
    Break(
        "what global objects own is updated and removed",
        "clusterctl/move/plan.py",
        "if node.is_global or node.below_global:",
        "if node.is_global:",
        {
            f"{_RULES}::test_descendants_of_global_objects_are_moved_like_their_owner": (
                "clusterctl/move-global",
            )
        },
    ),
    Break(
        "Clusters are not paused",
        "clusterctl/move/pausing.py",
        '{"spec": {"paused": True if paused else None}}',
        '{"spec": {"paused": None}}',
        {
            f"{_RULES}::test_clusters_and_classes_are_paused_while_something_is_created": (
                "clusterctl/move-paused",
                "clusterctl/move",
            )
        },
    ),
    Break(
        "nobody can block a move",
        "clusterctl/move/pausing.py",
        "        if _is_blocking(node.document):\n",
        "        if False:\n",
        {
            f"{_AT_WORK}::test_nothing_is_created_while_the_move_is_blocked": (
                "clusterctl/move-blocked",
            )
        },
    ),
    Break(
        "a status is restored",
        "clusterctl/move/content.py",
        '    if not status or "status" not in document:\n',
        "    if True:\n",
        {f"{_RULES}::test_status_is_not_restored": ("clusterctl/move-status", "clusterctl/status")},
    ),
)
