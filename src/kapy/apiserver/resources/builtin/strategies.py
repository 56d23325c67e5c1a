"""Strategies of Kubernetes' own kinds with special rules."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator

from kapy.apiserver.resources.builtin.class_errors import (
    ingress_class_errors,
    priority_class_errors,
    revision_errors,
    runtime_class_errors,
)
from kapy.apiserver.resources.builtin.config_data import ConfigMapStrategy, SecretStrategy
from kapy.apiserver.resources.builtin.definition_errors import definition_errors
from kapy.apiserver.resources.builtin.definition_schemas import unvalidated_formats
from kapy.apiserver.resources.builtin.disruption_errors import budget_errors
from kapy.apiserver.resources.builtin.endpoint_errors import endpoints_errors, slice_errors
from kapy.apiserver.resources.builtin.events import EventStrategy, NewEventStrategy
from kapy.apiserver.resources.builtin.kind_warnings import node_warnings
from kapy.apiserver.resources.builtin.lease_errors import lease_errors
from kapy.apiserver.resources.builtin.limit_errors import limit_range_errors, quota_errors
from kapy.apiserver.resources.builtin.network_policy_errors import network_policy_errors
from kapy.apiserver.resources.builtin.node_errors import node_errors
from kapy.apiserver.resources.builtin.pod_security_labels import pod_security_errors
from kapy.apiserver.resources.builtin.rbac_errors import binding_errors, role_errors
from kapy.apiserver.resources.builtin.strategy import BuiltInStrategy
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.builtin.workloads import (
    DaemonSetStrategy,
    JobStrategy,
    PodStrategy,
    ServiceStrategy,
    StatefulSetStrategy,
    WorkloadStrategy,
)
from kapy.apiserver.resources.metadata import is_qualified_finalizer
from kapy.apiserver.resources.strategy import Strategy, mask_generate_name
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, invalid
from kapy.kube.names import path_segment_errors
from kapy.kube.qualified_names import dns_label_errors, qualified_name_errors


class NamespaceStrategy(BuiltInStrategy):
    """The strategy of Namespaces: the finalizer `kubernetes`, a phase, and a label with the
    name.
    """

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        return dns_label_errors(mask_generate_name(name) if prefix else name)

    def default(self, document: Document) -> None:
        metadata = document["metadata"]
        if metadata.get("name"):
            labels = metadata.get("labels") or {}
            metadata["labels"] = {**labels, "kubernetes.io/metadata.name": metadata["name"]}

    def prepare_create(self, document: Document, table: Table) -> None:
        del table
        spec = document.get("spec") or {}
        finalizers = spec.get("finalizers") or []
        if "kubernetes" not in finalizers:
            finalizers = [*finalizers, "kubernetes"]
        document["spec"] = {**spec, "finalizers": finalizers}
        document["status"] = {"phase": "Active"}

    def prepare_update(self, document: Document, old: Document) -> None:
        document["spec"] = old.get("spec", {})

    def prepare_status(self, document: Document, old: Document) -> None:
        super().prepare_status(document, old)
        status = document.get("status") or {}
        if not status.get("phase"):
            document["status"] = {**status, "phase": "Active"}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        result: list[FieldError] = FieldErrors()
        for index, name in enumerate((document.get("spec") or {}).get("finalizers") or ()):
            path = "spec.finalizers" if old is None else f"spec.finalizers[{index}]"
            result += [invalid(path, name, text) for text in qualified_name_errors(name)]
            if not is_qualified_finalizer(name):
                text = "name is neither a standard finalizer name nor is it fully qualified"
                result.append(invalid(path, name, text))
        deleting = document["metadata"].get("deletionTimestamp")
        phase = (document.get("status") or {}).get("phase")
        if not deleting and phase != "Active":
            text = "may only be 'Active' if `deletionTimestamp` is empty"
            result.append(invalid("status.Phase", phase, text))
        if not result:
            wrong = list(pod_security_errors(document["metadata"].get("labels") or {}))
            before = old["metadata"].get("labels") or {} if old is not None else {}
            if old is None or wrong != list(pod_security_errors(before)):
                result += wrong
        return result


class DefinitionStrategy(BuiltInStrategy):
    """The strategy of CustomResourceDefinitions."""

    qualified_finalizers = False

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        document["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _set_stored_versions(document)[:1],
        }

    def default(self, document: Document) -> None:
        super().default(document)
        status = document.get("status")
        if status is not None and not status.get("storedVersions"):
            document["status"] = {**status, "storedVersions": _set_stored_versions(document)[:1]}

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        status = document.get("status") or {}
        versions = status.get("storedVersions") or []
        added = [
            version for version in _set_stored_versions(document)[:1] if version not in versions
        ]
        document["status"] = {**status, "storedVersions": [*versions, *added]}

    def prepare_status(self, document: Document, old: Document) -> None:
        super().prepare_status(document, old)
        status = document.get("status") or {}
        if not status.get("storedVersions"):
            document["status"] = {**status, "storedVersions": _set_stored_versions(old)[:1]}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return definition_errors(document, old)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        result = [] if old is None else _unknown_formats(old)
        return [f'unrecognized format "{item}"' for item in _unknown_formats(document, result)]


def _unknown_formats(document: Document, entries: Iterable[str] = ()) -> list[str]:
    result: dict[str, None] = {}
    for version in document["spec"].get("versions") or ():
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        result.update(dict.fromkeys(unvalidated_formats(schema)))
    return [item for item in result if item not in entries]


def _set_stored_versions(document: Document) -> list[str]:
    versions = document["spec"].get("versions") or ()
    return [version["name"] for version in versions if version.get("storage")]


class NodeStrategy(BuiltInStrategy):
    """The strategy of Nodes: a kubelet may create its Node with a status."""

    keep_status_on_create = True

    def prepare_create(self, document: Document, table: Table) -> None:
        if not document.get("status"):
            super().prepare_create(document, table)
        _without_source(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        if "configSource" not in (old.get("spec") or {}):
            _without_source(document)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(node_errors(document, old))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        del old
        return list(node_warnings(document))


def _without_source(document: Document) -> None:
    """Remove the obsolete `configSource` of a Node."""
    spec = document.get("spec") or {}
    if "configSource" in spec:
        document["spec"] = {key: value for key, value in spec.items() if key != "configSource"}


class RoleStrategy(BuiltInStrategy):
    """The strategy of roles: a name may be any path segment (`system:node`)."""

    null_if_empty = (("rules",),)

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        return path_segment_errors(name, prefix=prefix)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        del old
        return role_errors(document)


class BindingStrategy(RoleStrategy):
    """The strategy of RoleBindings and ClusterRoleBindings."""

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return binding_errors(document, old)


class LeaseStrategy(BuiltInStrategy):
    """The strategy of Leases: the fields of coordinated leader election are dropped."""

    qualified_finalizers = False

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        _without_coordination(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        _without_coordination(document)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        del old
        return list(lease_errors(document))


def _without_coordination(document: Document) -> None:
    spec = document.get("spec") or {}
    if "strategy" in spec or "preferredHolder" in spec:
        removals = ("strategy", "preferredHolder")
        document["spec"] = {key: value for key, value in spec.items() if key not in removals}


class ValidatedStrategy(BuiltInStrategy):
    """The strategy of a kind that has validation but no other special rules."""

    def __init__(self, row: Row) -> None:
        super().__init__(row)
        self._check = _CHECKS[row.group, row.plural]

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return list(self._check(document, old))


class RuntimeClassStrategy(ValidatedStrategy):
    """The strategy of RuntimeClasses."""

    qualified_finalizers = False


class BudgetStrategy(ValidatedStrategy):
    """The strategy of PodDisruptionBudgets: a name may be any path segment."""

    status_metadata_checks = (0, 0)

    qualified_finalizers = False
    metadata_last = True

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        return path_segment_errors(name, prefix=prefix)


class LimitRangeStrategy(ValidatedStrategy):
    """The strategy of LimitRanges: a missing name is generated."""

    null_if_empty = (("spec", "limits"),)

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        if not document["metadata"].get("name"):
            document["metadata"]["name"] = str(uuid.uuid4())


class EndpointSliceStrategy(ValidatedStrategy):
    """The strategy of EndpointSlices: the topology of v1beta1 is kept only in objects that already
    have it.
    """

    null_if_empty = (("endpoints",), ("ports",))

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        document["endpoints"] = _without_topology(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        if document.get("endpoints") != old.get("endpoints"):
            document["endpoints"] = _without_topology(document)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        fading = old is None and document.get("addressType") == "FQDN"
        return ["spec.addressType: FQDN endpoints are deprecated"] if fading else []


def _without_topology(document: Document) -> list[Document] | None:
    endpoints = document.get("endpoints")
    if endpoints is None:
        return None
    removal = "deprecatedTopology"
    return [
        {key: value for key, value in endpoint.items() if key != removal} for endpoint in endpoints
    ]


class AccountStrategy(BuiltInStrategy):
    """The strategy of ServiceAccounts: references to Secrets keep only the name."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        _only_names(document)

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        _only_names(document)


def _only_names(document: Document) -> None:
    secrets = document.get("secrets")
    if secrets:
        document["secrets"] = [
            {"name": secret["name"]} if secret.get("name") else {} for secret in secrets
        ]


def _limit_ranges(document: Document, old: Document | None) -> Iterator[FieldError]:
    del old
    return limit_range_errors(document)


Check = Callable[[Document, "Document | None"], Iterator[FieldError]]

_CHECKS: dict[tuple[str, str], Check] = {
    ("", "endpoints"): endpoints_errors,
    ("", "limitranges"): _limit_ranges,
    ("", "resourcequotas"): quota_errors,
    ("apps", "controllerrevisions"): revision_errors,
    ("discovery.k8s.io", "endpointslices"): slice_errors,
    ("networking.k8s.io", "ingressclasses"): ingress_class_errors,
    ("networking.k8s.io", "networkpolicies"): network_policy_errors,
    ("node.k8s.io", "runtimeclasses"): runtime_class_errors,
    ("policy", "poddisruptionbudgets"): budget_errors,
    ("scheduling.k8s.io", "priorityclasses"): priority_class_errors,
}


class WebhooksStrategy(BuiltInStrategy):
    """The strategy of webhook configurations: their validation is imported at the first write."""

    qualified_finalizers = False

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        from kapy.apiserver.resources.builtin.webhook_errors import configuration_errors

        return configuration_errors(document, old)


_SPECIAL: dict[tuple[str, str], type[BuiltInStrategy]] = {
    **dict.fromkeys(_CHECKS, ValidatedStrategy),
    ("", "limitranges"): LimitRangeStrategy,
    ("", "serviceaccounts"): AccountStrategy,
    ("coordination.k8s.io", "leases"): LeaseStrategy,
    ("discovery.k8s.io", "endpointslices"): EndpointSliceStrategy,
    ("node.k8s.io", "runtimeclasses"): RuntimeClassStrategy,
    ("policy", "poddisruptionbudgets"): BudgetStrategy,
    ("", "configmaps"): ConfigMapStrategy,
    ("", "events"): EventStrategy,
    ("events.k8s.io", "events"): NewEventStrategy,
    ("apps", "daemonsets"): DaemonSetStrategy,
    ("apps", "deployments"): WorkloadStrategy,
    ("apps", "replicasets"): WorkloadStrategy,
    ("apps", "statefulsets"): StatefulSetStrategy,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): WebhooksStrategy,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): WebhooksStrategy,
    ("batch", "jobs"): JobStrategy,
    ("", "namespaces"): NamespaceStrategy,
    ("", "nodes"): NodeStrategy,
    ("", "pods"): PodStrategy,
    ("", "secrets"): SecretStrategy,
    ("apiextensions.k8s.io", "customresourcedefinitions"): DefinitionStrategy,
    ("", "services"): ServiceStrategy,
    ("rbac.authorization.k8s.io", "clusterrolebindings"): BindingStrategy,
    ("rbac.authorization.k8s.io", "clusterroles"): RoleStrategy,
    ("rbac.authorization.k8s.io", "rolebindings"): BindingStrategy,
    ("rbac.authorization.k8s.io", "roles"): RoleStrategy,
}


def strategy_of(row: Row) -> Strategy:
    """Return the strategy of a built-in resource."""
    return _SPECIAL.get((row.group, row.plural), BuiltInStrategy)(row)
