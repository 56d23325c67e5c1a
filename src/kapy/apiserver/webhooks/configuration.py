"""Webhook configurations, read from their documents, and the rules in them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kapy.apiserver.resources.review_versions import first_supported
from kapy.apiserver.webhooks.client_config import ClientConfig
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.kube.names import Resource
from kapy.kube.selectors import LabelSelector, selector_of

if TYPE_CHECKING:
    from kapy.apiserver.resources.match_conditions import Condition


Role = Literal["mutating", "validating"]

_log = logging.getLogger(__name__)

_DEFAULT_SECONDS = 10

_EVERY = "*"
_EXEMPT_GROUP = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    """One webhook of an admission webhook configuration.

    seconds: the timeout of a call. again: whether reinvocationPolicy is IfNeeded. review_version:
    the AdmissionReview version to send, "" if the webhook accepts none that this server supports.
    """

    name: str
    role: Role
    client: ClientConfig
    rules: tuple[Rule, ...]
    namespaces: LabelSelector
    objects: LabelSelector
    conditions: tuple[Condition, ...]
    ignores_failures: bool
    equivalent: bool
    seconds: int
    dry_runs: bool
    again: bool
    review_version: str


def parse_webhooks(configurations: Iterable[Document], role: Role) -> tuple[Webhook, ...]:
    """Return the webhooks of all configurations of one role in the order of calls.

    The order is by the name of the configuration, then as listed in it.
    """
    ordered = sorted(
        configurations, key=lambda configuration: str(configuration["metadata"]["name"])
    )
    return tuple(hook for item in ordered for hook in _parse_configuration(item, role))


def _parse_configuration(configuration: Document, role: Role) -> Iterator[Webhook]:
    """Yield the webhooks of a configuration; log and skip those that are invalid."""
    for webhook in configuration.get("webhooks") or ():
        try:
            yield _parse_webhook(webhook, role)
        except (KapyError, ValueError, LookupError) as error:
            where = f"{configuration['metadata']['name']}/{webhook.get('name')}"
            _log.error("the %s webhook %s is not asked: %s", role, where, error)


def _parse_webhook(value: Document, role: Role) -> Webhook:
    return Webhook(
        name=value["name"],
        role=role,
        client=ClientConfig.from_document(value["clientConfig"]),
        rules=tuple(Rule.from_document(rule) for rule in value.get("rules") or ()),
        namespaces=selector_of(value.get("namespaceSelector") or {}),
        objects=selector_of(value.get("objectSelector") or {}),
        conditions=_conditions(value),
        ignores_failures=value.get("failurePolicy") == "Ignore",
        equivalent=value.get("matchPolicy", "Equivalent") == "Equivalent",
        seconds=value.get("timeoutSeconds") or _DEFAULT_SECONDS,
        dry_runs=value.get("sideEffects") in ("None", "NoneOnDryRun"),
        again=value.get("reinvocationPolicy") == "IfNeeded",
        review_version=first_supported(value.get("admissionReviewVersions") or ()),
    )


def _conditions(hook: Document) -> tuple[Condition, ...]:
    if not hook.get("matchConditions"):
        return ()
    from kapy.apiserver.resources.match_conditions import Condition

    return tuple(
        Condition.compile(condition["expression"]) for condition in hook["matchConditions"]
    )


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
