"""The audit policy (`audit.k8s.io/v1` Policy): the level for each request.

The first matching rule decides; a request without a matching rule is not audited.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import msgspec

from kapy.apiserver.auth.authorization import Attributes
from kapy.kube import yaml
from kapy.kube.errors import KapyError
from kapy.kube.model import decode_problem

API_VERSION: Final = "audit.k8s.io/v1"


class InvalidPolicy(KapyError):
    """A policy is invalid; the message names the file, the rule and the field."""


class Level(IntEnum):
    """The audit level: how much of a request is recorded."""

    NONE = 0
    METADATA = 1
    REQUEST = 2
    REQUEST_RESPONSE = 3

    @property
    def shown(self) -> str:
        return _LEVELS[self]


_LEVELS: Final = ("None", "Metadata", "Request", "RequestResponse")
STAGES: Final = ("RequestReceived", "ResponseStarted", "ResponseComplete", "Panic")


class GroupResources(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """The resources of an API group (`*`: of all groups) that a rule matches. An empty list means
    all resources of the group.
    """

    group: str = ""
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()

    def matches(self, attributes: Attributes) -> bool:
        if self.group not in (attributes.group, "*"):
            return False
        if not self.resources:
            return True
        if self.resource_names and attributes.name not in self.resource_names:
            return False
        return any(_matches_name(resource, attributes) for resource in self.resources)


class Rule(msgspec.Struct, rename="camel", forbid_unknown_fields=True, frozen=True):
    """A rule of an audit policy. An empty list matches everything."""

    level: str = ""
    users: tuple[str, ...] = ()
    user_groups: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    resources: tuple[GroupResources, ...] = ()
    namespaces: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = msgspec.field(default=(), name="nonResourceURLs")
    omit_stages: tuple[str, ...] = ()
    omit_managed_fields: bool | None = None

    def matches(self, attributes: Attributes, *, authenticated: bool) -> bool:
        """Report whether the rule matches a request. authenticated: whether the request is
        authenticated.
        """
        user = attributes.user
        if self.users and not (authenticated and user.name in self.users):
            return False
        if self.user_groups and not (
            authenticated and not set(user.groups).isdisjoint(self.user_groups)
        ):
            return False
        if self.verbs and attributes.verb not in self.verbs:
            return False
        if self.namespaces or self.resources:
            return self._matches_resource(attributes)
        if self.non_resource_urls:
            path = attributes.path
            return path is not None and any(_covers(url, path) for url in self.non_resource_urls)
        return True

    def _matches_resource(self, attributes: Attributes) -> bool:
        if not attributes.is_resource or (
            self.namespaces and attributes.namespace not in self.namespaces
        ):
            return False
        return not self.resources or any(
            resource.matches(attributes) for resource in self.resources
        )


def _matches_name(pattern: str, attributes: Attributes) -> bool:
    """Report whether `pods`, `pods/log`, `pods/*`, `*/scale` or `*` matches a resource."""
    what = (
        f"{attributes.resource}/{attributes.subresource}"
        if attributes.subresource
        else attributes.resource
    )
    if pattern in ("*", what):
        return True
    resource, _, subresource = pattern.partition("/")
    if resource == "*":
        return bool(subresource) and subresource == attributes.subresource
    return subresource == "*" and resource == attributes.resource


def _covers(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith("*") and path.startswith(pattern.rstrip("*")))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The audit level and the audit options for one request."""

    level: Level
    omit_stages: frozenset[str]
    omit_managed_fields: bool


@dataclass(frozen=True, slots=True)
class Policy:
    """An audit policy: rules with their verdicts. `otherwise` applies if no rule matches."""

    rules: tuple[tuple[Rule, Verdict], ...]
    otherwise: Verdict

    def verdict(self, attributes: Attributes, *, authenticated: bool = True) -> Verdict:
        """Return the verdict for a request. authenticated: whether the request is authenticated."""
        for rule, verdict in self.rules:
            if rule.matches(attributes, authenticated=authenticated):
                return verdict
        return self.otherwise


EVERYTHING: Final = Policy(
    (), Verdict(Level.METADATA, frozenset({"RequestReceived"}), omit_managed_fields=False)
)
"""The policy without a policy file: metadata of completed requests."""


class _PolicyDocument(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The policy document in the file."""

    api_version: str = ""
    kind: str = ""
    metadata: dict[str, Any] = {}
    rules: list[Rule] = []
    omit_stages: tuple[str, ...] = ()
    omit_managed_fields: bool = False


def read_policy(path: Path) -> Policy:
    """Read a policy from a YAML or JSON file. Raises InvalidPolicy."""
    try:
        return parse_policy(yaml.load(path.read_bytes()))
    except OSError as error:
        raise InvalidPolicy(f"cannot read the audit policy {path}: {error.strerror}") from None
    except (yaml.YamlError, InvalidPolicy) as error:
        raise InvalidPolicy(f"the audit policy {path} cannot be used: {error}") from None


def parse_policy(document: object) -> Policy:
    """Parse a policy document. Raises InvalidPolicy."""
    policy_document = _decode(document)
    _check(_problems(policy_document))
    return Policy(
        tuple((rule, _verdict(policy_document, rule)) for rule in policy_document.rules),
        Verdict(
            Level.NONE, frozenset(policy_document.omit_stages), policy_document.omit_managed_fields
        ),
    )


def _decode(document: object) -> _PolicyDocument:
    if not isinstance(document, dict):
        raise InvalidPolicy("it is no object; it begins with `apiVersion: audit.k8s.io/v1`")
    entries = (document.get("apiVersion"), document.get("kind"))
    if entries != (API_VERSION, "Policy"):
        raise InvalidPolicy(
            f"it has apiVersion {entries[0]!r} and kind {entries[1]!r}, "
            f"not {API_VERSION} and Policy"
        )
    if not document.get("rules"):
        raise InvalidPolicy("it has no rules, so nothing would be written down")
    fields = {key: value for key, value in document.items() if value is not None}
    try:
        return msgspec.convert(fields, _PolicyDocument)
    except msgspec.ValidationError as error:
        place, why = decode_problem(error)
        raise InvalidPolicy(f"{place}: {why}" if place else why) from None


def _verdict(policy_document: _PolicyDocument, rule: Rule) -> Verdict:
    omit = rule.omit_managed_fields
    return Verdict(
        Level(_LEVELS.index(rule.level)),
        frozenset((*policy_document.omit_stages, *rule.omit_stages)),
        policy_document.omit_managed_fields if omit is None else omit,
    )


def _check(problems: Iterable[str]) -> None:
    result = "; ".join(problems)
    if result:
        raise InvalidPolicy(result)


def _problems(policy_document: _PolicyDocument) -> Iterable[str]:
    yield from _stages("omitStages", policy_document.omit_stages)
    for number, rule in enumerate(policy_document.rules):
        yield from _rule_problems(f"rules[{number}]", rule)


def _rule_problems(where: str, rule: Rule) -> Iterable[str]:
    if not rule.level:
        yield f"{where}.level is required: one of {', '.join(_LEVELS)}"
    elif rule.level not in _LEVELS:
        yield f"{where}.level {rule.level!r} is not one of {', '.join(_LEVELS)}"
    yield from _paths(f"{where}.nonResourceURLs", rule.non_resource_urls)
    for at, resource in enumerate(rule.resources):
        if resource.resource_names and not resource.resources:
            yield f"{where}.resources[{at}].resourceNames needs at least one of resources"
        if "/" in resource.group:
            yield (
                f"{where}.resources[{at}].group {resource.group!r} is no API group "
                f"(a group has no version: {resource.group.partition('/')[0]!r})"
            )
    yield from _stages(f"{where}.omitStages", rule.omit_stages)
    if rule.non_resource_urls and (rule.resources or rule.namespaces):
        yield f"{where}: a rule is about resources or about nonResourceURLs, not about both"


def _paths(where: str, paths: Sequence[str]) -> Iterable[str]:
    for at, path in enumerate(paths):
        if path == "*":
            continue
        if not path.startswith("/"):
            yield f"{where}[{at}] {path!r} must begin with /"
        if "*" in path[:-1]:
            yield f"{where}[{at}] {path!r} may have * at its end only"


def _stages(where: str, stages: Sequence[str]) -> Iterable[str]:
    for at, stage in enumerate(stages):
        if stage not in STAGES:
            yield f"{where}[{at}] {stage!r} is not one of {', '.join(STAGES)}"
