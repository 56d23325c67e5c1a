"""Which of Kubernetes' own kinds are written in a way of their own."""

from __future__ import annotations

from kapy.apiserver.metadata import well_named
from kapy.apiserver.rbac.validation import binding_errors, role_errors
from kapy.apiserver.resources.builtin.definition_errors import definition_errors
from kapy.apiserver.resources.builtin.definition_schemas import formats_nobody_checks
from kapy.apiserver.resources.builtin.events import EventStrategy
from kapy.apiserver.resources.builtin.keyed_data import ConfigMapStrategy, SecretStrategy
from kapy.apiserver.resources.builtin.node_errors import node_errors
from kapy.apiserver.resources.builtin.strategy import BuiltIn
from kapy.apiserver.resources.builtin.table import Row
from kapy.apiserver.resources.builtin.workloads import (
    PodStrategy,
    ServiceStrategy,
    WorkloadStrategy,
)
from kapy.apiserver.resources.strategy import Strategy, masked
from kapy.apiserver.store.table import Table
from kapy.kube import Document
from kapy.kube.field_errors import FieldError, FieldErrors, invalid
from kapy.kube.qualified_names import dns_label_errors, qualified_name_errors


class NamespaceStrategy(BuiltIn):
    """Namespaces: a finalizer of their own, a phase, a label with their name."""

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        if "." in name:
            return ["must not contain dots"]
        found = dns_label_errors(masked(name) if prefix else name)
        return [text.replace(" bytes", " characters") for text in found]

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

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        del old
        found: list[FieldError] = FieldErrors()
        for index, name in enumerate((document.get("spec") or {}).get("finalizers") or ()):
            path = f"spec.finalizers[{index}]"
            found += [invalid(path, name, text) for text in qualified_name_errors(name)]
            if not well_named(name):
                text = "name is neither a standard finalizer name nor is it fully qualified"
                found.append(invalid(path, name, text))
        deleting = document["metadata"].get("deletionTimestamp")
        phase = (document.get("status") or {}).get("phase")
        if not deleting and phase != "Active":
            text = "may only be 'Active' if `deletionTimestamp` is empty"
            found.append(invalid("status.Phase", phase, text))
        return found


class DefinitionStrategy(BuiltIn):
    """CustomResourceDefinitions."""

    def prepare_create(self, document: Document, table: Table) -> None:
        super().prepare_create(document, table)
        document["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": _storing(document)[:1],
        }

    def default(self, document: Document) -> None:
        super().default(document)
        status = document.get("status")
        if status is not None and not status.get("storedVersions"):
            document["status"] = {**status, "storedVersions": _storing(document)}

    def prepare_update(self, document: Document, old: Document) -> None:
        super().prepare_update(document, old)
        status = document.get("status") or {}
        known = status.get("storedVersions") or []
        added = [one for one in _storing(document) if one not in known]
        document["status"] = {**status, "storedVersions": [*known, *added]}

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return definition_errors(document, old)

    def warnings(self, document: Document) -> list[str]:
        found: dict[str, None] = {}
        for version in document["spec"].get("versions") or ():
            schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
            found.update(dict.fromkeys(formats_nobody_checks(schema)))
        return [f'unrecognized format "{one}"' for one in found]


def _storing(document: Document) -> list[str]:
    versions = document["spec"].get("versions") or ()
    return [one["name"] for one in versions if one.get("storage")]


class NodeStrategy(BuiltIn):
    """Nodes: a kubelet registers its node with the status that it has."""

    status_at_birth = True

    def prepare_create(self, document: Document, table: Table) -> None:
        if not document.get("status"):
            super().prepare_create(document, table)

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return FieldErrors.of(node_errors(document, old))


class RoleStrategy(BuiltIn):
    """Roles: any name that can be part of a path (`system:node`)."""

    def name_errors(self, name: str, *, prefix: bool = False) -> list[str]:
        del prefix
        if name in (".", ".."):
            return [f"may not be '{name}'"]
        return [f"may not contain '{sign}'" for sign in "/%" if sign in name]

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        del old
        return role_errors(document)


class BindingStrategy(RoleStrategy):
    """Bindings of roles."""

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        return binding_errors(document, old)


class WebhooksStrategy(BuiltIn):
    """Webhook configurations. Their rules are imported when the first one is written."""

    def validate(self, document: Document, old: Document | None) -> list[FieldError]:
        from kapy.apiserver.webhooks.validation import configuration_errors

        return configuration_errors(document, old)


_SPECIAL: dict[tuple[str, str], type[BuiltIn]] = {
    ("", "configmaps"): ConfigMapStrategy,
    ("", "events"): EventStrategy,
    ("events.k8s.io", "events"): EventStrategy,
    ("apps", "daemonsets"): WorkloadStrategy,
    ("apps", "deployments"): WorkloadStrategy,
    ("apps", "replicasets"): WorkloadStrategy,
    ("apps", "statefulsets"): WorkloadStrategy,
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"): WebhooksStrategy,
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations"): WebhooksStrategy,
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
    """The strategy of a built-in resource."""
    return _SPECIAL.get((row.group, row.plural), BuiltIn)(row)
