"""Kubernetes' authorization, written down a second time and simply: the judge of both servers.

Nothing here is shared with kapy. Every rule of upstream stands as plainly as it can: paths by
regular expressions, rules by trying every combination.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

Document = dict[str, Any]
RBAC: Final = "rbac.authorization.k8s.io"

_RESOURCE_PATH: Final = re.compile(
    r"/*(?:api|apis/(?P<group>[^/]*))/(?P<version>[^/]*)/(?:(?P<prefix>watch|proxy)/(?=.))?"
    r"(?P<rest>.*?)/*",
    re.DOTALL,
)
_METHODS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}


@dataclass(frozen=True)
class Subject:
    """The user who sends a request."""

    name: str
    groups: tuple[str, ...] = ()


def impersonated(subject: Subject) -> Subject:
    """Return the user that a server derives from impersonation headers for the subject."""
    groups = subject.groups
    account = re.fullmatch(r"system:serviceaccount:([^:]+):[^:]+", subject.name)
    if account is not None and not groups:
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{account[1]}")
    return Subject(subject.name, (*groups, AUTHENTICATED))


@dataclass(frozen=True)
class Question:
    """The attributes of a request: those of a resource, or a path."""

    verb: str
    path: str | None = None
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def question_of(method: str, target: str) -> Question:
    """Return the authorization attributes of a request. target: path and query, as sent."""
    encoded, _, raw = target.partition("?")
    path = unquote(encoded)
    match = _RESOURCE_PATH.fullmatch(path)
    if match is None or not match["rest"]:
        return Question(method.lower(), path)
    parts = match["rest"].split("/")
    space = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        space = parts[1]
        if len(parts) > 2 and parts[2] not in ("status", "finalize"):
            parts = parts[2:]
    resource, name, sub = [*parts, "", ""][:3]
    verb = match["prefix"] or _METHODS.get(method, "")
    if verb == "proxy":
        sub = ""
    if not name and verb == "get":
        verb, name = _of_collection(raw)
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Question(verb, None, match["group"] or "", resource, sub, space, name)


def _of_collection(raw: str) -> tuple[str, str]:
    """Verb and name of a GET without a name."""
    query: dict[str, str] = {}
    for key, value in parse_qsl(raw, keep_blank_values=True):
        query.setdefault(key, value)
    watching = "watch" in query and query["watch"].lower() not in ("0", "false")
    return ("watch" if watching else "list"), _selected(query)


def _selected(query: Mapping[str, str]) -> str:
    for number in ("limit", "timeoutSeconds"):
        if number in query and not re.fullmatch(r"[+-]?[0-9]{1,18}", query[number]):
            return ""
    label = query.get("labelSelector", "")
    if label and not re.fullmatch(r"!?[a-z]+(=[a-z]*)?(,[a-z]+=[a-z]*)*", label):
        return ""
    names: list[str] = []
    for term in sorted(re.split(r"(?<!\\),", query.get("fieldSelector", ""))):
        if not term:
            continue
        match = re.fullmatch(r"([^=!]*)(!=|==|=)((?:[^\\,=]|\\[\\,=])*)", term)
        if match is None:
            return ""
        if match[1] == "metadata.name" and match[2] != "!=":
            names.append(re.sub(r"\\(.)", r"\1", match[3]))
    name = names[0] if names else ""
    return "" if name in (".", "..") or "/" in name or "%" in name else name


@dataclass
class World:
    """Roles and bindings as documents: whole kinds, in no order."""

    roles: list[Document] = field(default_factory=list)
    bindings: list[Document] = field(default_factory=list)

    def rules(self, binding: Document) -> list[Document] | None:
        """The rules that a binding gives, None when its role is not there."""
        reference, space = binding["roleRef"], binding["metadata"].get("namespace", "")
        for role in self.roles:
            at = role["metadata"].get("namespace", "")
            of_kind = role["kind"] == reference["kind"]
            here = at == (space if reference["kind"] == "Role" else "")
            if of_kind and here and role["metadata"]["name"] == reference["name"]:
                rules: list[Document] = role["rules"]
                return rules
        return None

    def applying(self, subject: Subject, namespace: str) -> Iterator[tuple[Document, Document]]:
        """The bindings of a subject in a namespace, each with the first of its subjects."""
        for binding in self.bindings:
            space = binding["metadata"].get("namespace", "")
            if space and space != namespace:
                continue
            for item in binding["subjects"]:
                if _is(subject, item, space):
                    yield binding, item
                    break


def _is(subject: Subject, document: Document, space: str) -> bool:
    if document["kind"] == "Group":
        return document["name"] in subject.groups
    if document["kind"] == "User":
        return bool(subject.name == document["name"])
    at = document.get("namespace") or space
    return bool(at) and subject.name == f"system:serviceaccount:{at}:{document['name']}"


def allows(rule: Document, question: Question) -> bool:
    """Whether one rule allows what is asked for."""
    if not {"*", question.verb} & set(rule["verbs"]):
        return False
    if question.path is not None:
        return any(_covers_path(item, question.path) for item in rule.get("nonResourceURLs", ()))
    whole = (
        f"{question.resource}/{question.subresource}" if question.subresource else question.resource
    )
    accepted = {"*", whole} | ({f"*/{question.subresource}"} if question.subresource else set())
    return (
        bool({"*", question.group} & set(rule.get("apiGroups", ())))
        and bool(accepted & set(rule.get("resources", ())))
        and (not rule.get("resourceNames") or question.name in rule["resourceNames"])
    )


def _covers_path(pattern: str, path: str) -> bool:
    return pattern == path or (pattern[-1:] == "*" and path.startswith(pattern.rstrip("*")))


@dataclass(frozen=True)
class Verdict:
    """allowed: whether. reasons: any of these sentences may say why, or why not."""

    allowed: bool
    reasons: frozenset[str]


def verdict(world: World, subject: Subject, question: Question) -> Verdict:
    """Return the decision that an authorizer must make."""
    reasons: set[str] = set()
    lacking: set[str] = set()
    for binding, document in world.applying(subject, question.namespace):
        rules = world.rules(binding)
        reference = binding["roleRef"]
        if rules is None:
            lacking.add(f'{reference["kind"].lower()}.{RBAC} "{reference["name"]}" not found')
        elif any(allows(rule, question) for rule in rules):
            reasons.add(f"RBAC: allowed by {_described(binding, document)}")
    if reasons:
        return Verdict(True, frozenset(reasons))
    return Verdict(False, frozenset(lacking))


def _described(binding: Document, document: Document) -> str:
    space, reference = binding["metadata"].get("namespace"), binding["roleRef"]
    name = binding["metadata"]["name"]
    named = f"{name}/{space}" if space else name
    who = document["name"]
    if document["kind"] == "ServiceAccount":
        who = f"{who}/{document.get('namespace') or space}"
    role = f'{reference["kind"]} "{reference["name"]}"'
    return f'{binding["kind"]} "{named}" of {role} to {document["kind"]} "{who}"'


def refusal(subject: Subject, question: Question) -> str:
    """The sentence to whoever may not, without what follows about roles that are not there."""
    cannot = f'User "{subject.name}" cannot {question.verb}'
    if question.path is not None:
        return f'forbidden: {cannot} path "{question.path}"'
    what = (
        f"{question.resource}/{question.subresource}" if question.subresource else question.resource
    )
    where = (
        f'in the namespace "{question.namespace}"' if question.namespace else "at the cluster scope"
    )
    message = f'{cannot} resource "{what}" in API group "{question.group}" {where}'
    if not question.resource and not question.group:
        return f"forbidden: {message}"
    qualified = f"{question.resource}.{question.group}" if question.group else question.resource
    named = f' "{question.name}"' if question.name else ""
    return f"{qualified}{named} is forbidden: {message}"


def held(world: World, subject: Subject, namespace: str) -> list[Document]:
    """All rules of a subject in a namespace ("": those that hold everywhere)."""
    return [
        rule
        for binding, _ in world.applying(subject, namespace)
        for rule in world.rules(binding) or ()
    ]


def grants_too_much(own: Iterable[Document], wanted: Iterable[Document]) -> bool:
    """Whether one of the smallest parts of the wanted rules is not covered by one own rule."""
    have = list(own)
    return any(
        not any(_covers(rule, part) for rule in have)
        for document in wanted
        for part in _parts(document)
    )


def _parts(rule: Document) -> Iterator[Question]:
    names = rule.get("resourceNames") or [_ANY_NAME]
    groups, resources = rule.get("apiGroups", ()), rule.get("resources", ())
    for verb, group, resource, name in product(rule["verbs"], groups, resources, names):
        yield Question(verb, None, group, resource, name=name)
    for verb, path in product(rule["verbs"], rule.get("nonResourceURLs", ())):
        yield Question(verb, path)


_ANY_NAME: Final = "\0any"


def _covers(rule: Document, part: Question) -> bool:
    """Whether a rule covers a part: one that allows it as a request, but for a subresource, whose
    resource is a pattern here; and a part without a name needs a rule without names."""
    resource, _, subresource = part.resource.partition("/")
    if "/" in part.resource and "*/" + subresource in rule.get("resources", ()):
        part = replace(part, resource="*", subresource=subresource)
    del resource
    return allows(rule, part)


def _default(name: str, groups: Iterable[str], *rules: Document) -> tuple[Document, Document]:
    role = {"kind": "ClusterRole", "metadata": {"name": name}, "rules": list(rules)}
    binding = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "Group", "name": group} for group in groups],
    }
    return role, binding


AUTHENTICATED: Final = "system:authenticated"
_OPEN: Final = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_DISCOVERY: Final = ["/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*"]
_CONFIGURATION: Final = "/.well-known/openid-configuration"
_ISSUER: Final = [_CONFIGURATION, f"{_CONFIGURATION}/", "/openid/v1/jwks", "/openid/v1/jwks/"]
_ACCESS: Final = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]


def _create(group: str, *resources: str) -> Document:
    return {"verbs": ["create"], "apiGroups": [group], "resources": list(resources)}


DEFAULTS: Final = (
    _default(
        "system:discovery",
        [AUTHENTICATED],
        {"verbs": ["get"], "nonResourceURLs": sorted(_OPEN + _DISCOVERY)},
    ),
    _default(
        "system:public-info-viewer",
        [AUTHENTICATED, "system:unauthenticated"],
        {"verbs": ["get"], "nonResourceURLs": _OPEN},
    ),
    _default(
        "system:service-account-issuer-discovery",
        ["system:serviceaccounts"],
        {"verbs": ["get"], "nonResourceURLs": _ISSUER},
    ),
    _default(
        "system:basic-user",
        [AUTHENTICATED],
        _create("authorization.k8s.io", *_ACCESS),
        _create("authentication.k8s.io", "selfsubjectreviews"),
    ),
)
"""The default roles of every server, with the groups to which they are bound."""
