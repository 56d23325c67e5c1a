"""Generated roles, bindings and requests, and what two servers are compared by.

A pair is a set of rules with a request. There are four kinds of requests: real ones, questions
about access (SubjectAccessReview), attempts to write a role or binding, and lists of rules
(SelfSubjectRulesReview). All of them change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from tests.differential.authorization_model import RBAC, Document, Subject, World

SPACES: Final = ("red", "blue")
_VERBS: Final = (
    *("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"),
    *("get", "list", "create", "*", "proxy", "escalate", "bind", "impersonate", "GET", "use"),
)
_GROUPS: Final = ("", "", "", "apps", RBAC, "example.dev", "*", "core")
_RESOURCES: Final = (
    *("configmaps", "configmaps", "secrets", "pods", "pods/status", "*/status", "*/scale", "*"),
    *("deployments", "deployments/scale", "deployments/status", "serviceaccounts", "namespaces"),
    *("namespaces/status", "roles", "clusterroles", "nothings", "*/*", "configmaps/", "nodes"),
)
_NAMES: Final = ("a", "b", "", "*", "red", "a.b", "blue", "status")
_REPLICAS: Final[Document] = {"replicas": 1}
_PATHS: Final = (
    *("/healthz", "/healthz/*", "/metrics", "/x/*", "*", "/*", "/api*", "/apis/**"),
    *("/version", "/v*/n", "/healthz*", "/api/v1"),
)


@dataclass(frozen=True)
class Asked:
    """One request. kind: `request`, `review`, `grant` or `rules`. bearer: the token of who asks, ""
    for the administrator, who asks in the name of the subject, unless it is a review."""

    kind: str
    subject: Subject
    method: str
    target: str
    body: Document | None = None
    media: str = "application/json"
    bearer: str = ""
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def told(self) -> str:
        """One line that says all of it."""
        return f"{self.kind} {self.subject} {self.method} {self.target} {self.body or ''}"


class Draw:
    """A seeded source of worlds and requests. tag: makes the names of one world unique."""

    def __init__(self, seed: int, tag: str) -> None:
        self._random = Random(seed)
        self._tag = tag
        users = [f"{tag}-u{number}" for number in range(8)]
        users += [f"system:serviceaccount:{space}:{tag}-s" for space in SPACES]
        self._groups = [f"{tag}-g{number}" for number in range(3)]
        self.subjects = [Subject(user, self._some(self._groups, 2)) for user in users]

    def _one(self, values: Sequence[str]) -> str:
        return self._random.choice(values)

    def _some(self, values: Sequence[str], most: int, least: int = 0) -> tuple[str, ...]:
        return tuple(self._one(values) for _ in range(self._random.randint(least, most)))

    # roles and bindings

    def world(self) -> World:
        """Roles and bindings of one world."""
        roles = [self._role(number) for number in range(10)]
        names = [role["metadata"]["name"] for role in roles] + [f"{self._tag}-gone"]
        bindings = [self._binding(number, names) for number in range(14)]
        return World(roles, bindings)

    def _rule(self, *, paths: bool) -> Document:
        verbs = list(self._some(_VERBS, 4, 1))
        if paths and self._random.random() < 0.2:
            return {"verbs": verbs, "nonResourceURLs": list(self._some(_PATHS, 2, 1))}
        rule: Document = {"verbs": verbs, "apiGroups": list(self._some(_GROUPS, 2, 1))}
        rule["resources"] = list(self._some(_RESOURCES, 4, 1))
        if self._random.random() < 0.4:
            rule["resourceNames"] = list(self._some(_NAMES, 2, 1))
        return rule

    def _role(self, number: int) -> Document:
        space = self._one(("", *SPACES))
        return self._named_role(f"{self._tag}-r{number}", space, 4)

    def _named_role(self, name: str, space: str, most: int) -> Document:
        rules = [self._rule(paths=not space) for _ in range(self._random.randint(0, most))]
        kind = "Role" if space else "ClusterRole"
        return {**_object(kind, name, space), "rules": rules}

    def _binding(self, number: int, roles: Sequence[str]) -> Document:
        space = self._one(("", *SPACES))
        kinds = ("Role", "ClusterRole") if space else ("ClusterRole",)
        named = _object("RoleBinding" if space else "ClusterRoleBinding", "", space)
        named["metadata"]["name"] = f"{self._tag}-b{number}"
        role = {"apiGroup": RBAC, "kind": self._one(kinds), "name": self._one(roles)}
        subjects = [self._subject(space) for _ in range(self._random.randint(1, 3))]
        return {**named, "roleRef": role, "subjects": subjects}

    def _subject(self, space: str) -> Document:
        match self._one(("User", "User", "Group", "ServiceAccount")):
            case "User":
                name = self._random.choice(self.subjects).name
                return {"kind": "User", "apiGroup": RBAC, "name": name}
            case "Group":
                return {"kind": "Group", "apiGroup": RBAC, "name": self._one(self._groups)}
            case _:
                document: Document = {"kind": "ServiceAccount", "name": f"{self._tag}-s"}
                if not space or self._random.random() < 0.7:
                    document["namespace"] = self._one(SPACES)
                return document

    # requests

    def requests(self, world: World, count: int) -> Iterator[Asked]:
        """Requests of the world's subjects, of all kinds."""
        kinds = (self._request, self._request, self._review, self._review, self._grant)
        for _ in range(count):
            if self._random.random() < 0.02:
                yield self._rules()
            else:
                yield self._random.choice(kinds)(world)

    def _who(self) -> Subject:
        return self._random.choice(self.subjects)

    def _request(self, world: World) -> Asked:
        method = self._one(("GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
        path, kind = self._path()
        query = [self._query(world) for _ in range(self._random.randint(0, 2))]
        if method not in ("GET", "HEAD"):
            query.insert(self._random.randint(0, len(query)), "dryRun=All")
        target = f"{path}?{'&'.join(query)}" if query else path
        body: Document | None = None
        media = "application/json"
        if method in ("POST", "PUT"):
            body = {**kind, "metadata": {"name": self._one(("a", "b", "evil"))}}
        elif method == "PATCH":
            body, media = {"metadata": {"labels": {"x": "y"}}}, "application/merge-patch+json"
        return Asked("request", self._who(), method, target, body, media)

    def _path(self) -> tuple[str, Document]:
        """A path, and the kind of what is at most such paths."""
        if self._random.random() < 0.1:
            return self._one(("/healthz", "/metrics", "/x/y", "/x", "/vers/n", "/api", "/apis")), {}
        place = self._one(
            ("/api/v1", "/api/v1", "/api/v1", "/apis/apps/v1", "/apis/example.dev/v1")
        )
        if "apps" in place:
            resource = "deployments"
            kind: Document = {"apiVersion": "apps/v1", "kind": "Deployment"}
        else:
            resource = self._one(("configmaps", "configmaps", "secrets", "pods", "nothings"))
            kinds = {"secrets": "Secret", "pods": "Pod"}
            kind = {"apiVersion": "v1", "kind": kinds.get(resource, "ConfigMap")}
        prefix = self._one(("", "", "", "", "", "", "/watch", "/proxy"))
        space = self._one(("", "", *(f"/namespaces/{item}" for item in SPACES * 3)))
        name = self._one(("", "", "", "/a", "/b", "/%61", "/a.b", "/zz", "/status"))
        part = self._one(("", "", "", "", "/status", "/scale", "/finalize")) if name else ""
        if self._random.random() < 0.08:
            path = f"{place}/namespaces" + self._one(("", "/red", "/red/status", "/red/finalize"))
            return path, {"apiVersion": "v1", "kind": "Namespace"}
        if part == "/scale":
            kind = {"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": _REPLICAS}
        end = "/" if self._random.random() < 0.03 else ""
        return f"{place}{prefix}{space}/{resource}{name}{part}{end}", kind

    def _query(self, world: World) -> str:
        del world
        name = self._one(("a", "b", "a.b", "evil", "", "%61", "a%2Fb", "..", "%5C%2C"))
        return self._one(
            (
                f"fieldSelector=metadata.name={name}",
                f"fieldSelector=metadata.name%3D{name}",
                f"fieldSelector=metadata.name=={name}",
                f"fieldSelector=metadata.name!={name}",
                f"fieldSelector=metadata.name={name},metadata.name=b",
                f"fieldSelector=metadata.namespace=red,metadata.name={name}",
                "fieldSelector=metadata.name",
                "fieldSelector=",
                "labelSelector=x=y",
                "labelSelector=x%20y",
                "limit=5",
                "limit=five",
                "limit=",
                "watch=0",
                "watch=False&timeoutSeconds=1",
                "watch=1&timeoutSeconds=1",
                "watch&timeoutSeconds=1",
                "timeoutSeconds=soon",
                "metadata.name=a",
            )
        )

    def _review(self, world: World) -> Asked:
        del world
        subject = self._who()
        spec: Document = {"user": subject.name, "groups": list(subject.groups)}
        if self._random.random() < 0.15:
            path = self._one(("/healthz", "/healthz/x", "/x/y", "/x/", "", "*", "/api/v1", "/"))
            spec["nonResourceAttributes"] = {"path": path, "verb": self._one(_VERBS)}
        else:
            resource, slash, part = self._one(_RESOURCES).partition("/")
            request = {
                "verb": self._one(_VERBS),
                "group": self._one(_GROUPS),
                "resource": resource if self._random.random() < 0.9 else f"{resource}{slash}{part}",
                "subresource": part if self._random.random() < 0.9 else "",
                "namespace": self._one(("", *SPACES)),
                "name": self._one(_NAMES),
            }
            spec["resourceAttributes"] = {key: value for key, value in request.items() if value}
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        target = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        return Asked("review", subject, "POST", target, {**body, "spec": spec})

    def _grant(self, world: World) -> Asked:
        """The attempt of somebody to write a role or binding."""
        space = self._one(("", *SPACES))
        name, place = f"{self._tag}-new", f"/apis/{RBAC}/v1"
        at = f"{place}/namespaces/{space}" if space else place
        kind = "" if space else "cluster"
        if self._random.random() < 0.7:
            body = self._named_role(name, space, 2)
            if self._random.random() < 0.6 and world.roles:  # of what somebody may have
                body["rules"] += self._narrowed(self._random.choice(world.roles)["rules"], space)
            target = f"{at}/{kind}roles?dryRun=All"
        else:
            names = [role["metadata"]["name"] for role in world.roles] + [f"{self._tag}-gone"]
            body = {**self._binding(0, names), **_object("", name, space)}
            body["kind"] = "RoleBinding" if space else "ClusterRoleBinding"
            if not space:
                body["roleRef"]["kind"] = "ClusterRole"
            for subject in body["subjects"]:
                if subject["kind"] == "ServiceAccount":
                    subject.setdefault("namespace", "red")
            target = f"{at}/{kind}rolebindings?dryRun=All"
        return Asked("grant", self._who(), "POST", target, body)

    def _narrowed(self, rules: Sequence[Document], space: str) -> list[Document]:
        """Parts of rules: sometimes with a name where there was none, or without one."""
        results: list[Document] = []
        for rule in rules:
            if space and "nonResourceURLs" in rule:
                continue
            part: Document = {key: [self._one(values)] for key, values in rule.items()}
            if "resources" in part and self._random.random() < 0.3:
                part["resourceNames"] = [self._one(_NAMES)]
            results.append(part)
        return results

    def _rules(self) -> Asked:
        return rules_of(self._who(), self._one(SPACES))


def rules_of(subject: Subject, space: str) -> Asked:
    """The question of a subject for all its rules."""
    body: dict[str, Any] = {"apiVersion": "authorization.k8s.io/v1"}
    body |= {"kind": "SelfSubjectRulesReview", "spec": {"namespace": space}}
    target = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    return Asked("rules", subject, "POST", target, body)


def _object(kind: str, name: str, space: str) -> Document:
    metadata = {"name": name, "namespace": space} if space else {"name": name}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": metadata}


def writers(draw: Draw) -> World:
    """The right of all subjects of a world to try to write roles and bindings, and to ask for
    their rules; on a server that runs, every user who is known may do the latter."""
    tag = draw.subjects[0].name
    name = f"{tag}-writers"
    rules = [
        {
            "verbs": ["create"],
            "apiGroups": [RBAC],
            "resources": ["roles", "clusterroles", "rolebindings", "clusterrolebindings"],
        },
    ]
    role = {**_object("ClusterRole", name, ""), "rules": rules}
    subjects = [
        {"kind": "User", "apiGroup": RBAC, "name": subject.name} for subject in draw.subjects
    ]
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    binding = {**_object("ClusterRoleBinding", name, ""), "roleRef": reference}
    return World([role], [{**binding, "subjects": subjects}])
