"""The rules of a webhook: operations, groups, versions, resources and scope."""

from __future__ import annotations

from dataclasses import dataclass

from kapy.kube import Document
from kapy.kube.names import Resource

_EVERY = "*"
_EXEMPT_GROUP = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of a webhook: the requests for which the webhook is called. resources: pairs of
    resource and subresource, "" for the resource itself.
    """

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str

    @classmethod
    def from_document(cls, document: Document) -> Rule:
        """Return the rule that a document of a webhook configuration describes."""
        return cls(
            frozenset(document.get("operations") or ()),
            frozenset(document.get("apiGroups") or ()),
            frozenset(document.get("apiVersions") or ()),
            tuple(_split(resource) for resource in document.get("resources") or ()),
            document.get("scope") or _EVERY,
        )

    def covers(self, resource: Resource, subresource: str) -> bool:
        """Report whether the rule covers a resource or subresource, for any operation."""
        return (
            _has(self.groups, resource.group)
            and _has(self.versions, resource.version)
            and self._in_scope(resource)
            and any(
                main in (_EVERY, resource.plural) and part in (_EVERY, subresource)
                for main, part in self.resources
            )
        )

    def matches(self, operation: str, resource: Resource, subresource: str) -> bool:
        """Report whether the rule matches a request."""
        return _has(self.operations, operation) and self.covers(resource, subresource)

    def _in_scope(self, resource: Resource) -> bool:
        match self.scope:
            case "Namespaced":
                return resource.namespaced
            case "Cluster":
                return not resource.namespaced
            case _:
                return True


def _split(text: str) -> tuple[str, str]:
    main, _, part = text.partition("/")
    return main, part


def _has(items: frozenset[str], wanted: str) -> bool:
    return _EVERY in items or wanted in items


def is_exempt(resource: Resource) -> bool:
    """Report whether webhooks never receive this resource.

    Webhook configurations are exempt, so that a broken one can be repaired.
    """
    return resource.group == _EXEMPT_GROUP
