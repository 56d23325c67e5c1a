"""Tests of authorization: roles, bindings, impersonation, reviews and issued tokens."""

from __future__ import annotations

import base64
import json
import stat
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.auth.authentication import Authenticator, Identity, authenticated_user
from kapy.apiserver.auth.authorization import Attributes
from kapy.apiserver.auth.impersonation import ImpersonationAuthorizer, parse_impersonation
from kapy.apiserver.auth.rbac.rules import allows, format_rule, uncovered_rules
from kapy.apiserver.auth.tokens import KEY_FILE, ServiceAccountTokens, ServiceTokenError
from kapy.apiserver.controllers.namespaces import ensure_system_namespaces
from kapy.apiserver.server import Server
from kapy.kube import Document
from kapy.kube.errors import BadRequest, Forbidden, Unauthorized
from kapy.kube.http import ANONYMOUS, User
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map, running

ALICE = authenticated_user("alice", ("team",))
_NOBODY = Identity(ANONYMOUS, ())
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLES, BINDINGS = f"{RBAC}/namespaces/default/roles", f"{RBAC}/namespaces/default/rolebindings"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"


def rule(verbs: str, resources: str, **more: Any) -> Document:
    return {"apiGroups": [""], "resources": resources.split(), "verbs": verbs.split(), **more}


def role(name: str, *rules: Document, kind: str = "Role", **more: Any) -> Document:
    meta = {"name": name, "labels": more.pop("labels", {})}
    api = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": api, "kind": kind, "metadata": meta, "rules": list(rules), **more}


def binding(name: str, subject: str, to: str, kind: str = "Role", at: str = "Role") -> Document:
    what, _, who = subject.partition(":")
    document: Document = {"kind": what, "name": who}
    if what == "ServiceAccount":
        document["namespace"] = "default"
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": f"{at}Binding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": to},
        "subjects": [document],
    }


def wanted(verb: str, resource: str = "", path: str | None = None, **more: Any) -> Attributes:
    return Attributes(ALICE, verb, resource=resource, path=path, **more)


@pytest.mark.parametrize(
    ("access_rule", "attributes", "answer"),
    [
        (rule("get", "pods"), wanted("get", "pods"), True),
        (rule("get", "pods"), wanted("list", "pods"), False),
        (rule("*", "*"), wanted("frob", "pods", subresource="log"), True),
        (rule("get", "pods"), wanted("get", "pods", group="apps"), False),
        (rule("get", "pods"), wanted("get", "pods", subresource="log"), False),
        (rule("get", "pods/log"), wanted("get", "pods", subresource="log"), True),
        (rule("get", "pods/log"), wanted("get", "pods"), False),
        (rule("get", "*/scale"), wanted("get", "things", subresource="scale"), True),
        (rule("get", "*/scale"), wanted("get", "things", subresource="status"), False),
        (rule("get", "pods", resourceNames=["a"]), wanted("get", "pods", name="a"), True),
        (rule("get", "pods", resourceNames=["a"]), wanted("get", "pods", name="b"), False),
        (rule("get", "pods", resourceNames=["a"]), wanted("get", "pods"), False),
        ({"nonResourceURLs": ["/x/*"], "verbs": ["get"]}, wanted("get", path="/x/y"), True),
        ({"nonResourceURLs": ["/x/*"], "verbs": ["get"]}, wanted("get", path="/xy"), False),
        ({"nonResourceURLs": ["/x"], "verbs": ["get"]}, wanted("get", path="/x/y"), False),
        ({"nonResourceURLs": ["/x/**"], "verbs": ["get"]}, wanted("get", path="/x/y"), True),
        ({"nonResourceURLs": ["/*/y"], "verbs": ["get"]}, wanted("get", path="/x/y"), False),
        (rule("get", "*"), wanted("get", ""), True),
        (rule("get", "pods"), wanted("get", ""), False),
        (rule("get", "pods/log"), wanted("get", "pods/log"), True),
        (rule("get", "pods", resourceNames=[""]), wanted("get", "pods"), True),
        ({"nonResourceURLs": ["*"], "verbs": ["*"]}, wanted("get", "pods"), False),
    ],
)
def test_an_rbac_rule_allows_matching_requests_only(
    access_rule: Document, attributes: Attributes, answer: bool
) -> None:
    assert allows(access_rule, attributes) is answer


@pytest.mark.parametrize(
    ("owned", "wanted", "lacking"),
    [
        ([rule("get", "pods")], [rule("get", "pods")], []),
        ([rule("get list", "*")], [rule("get", "pods secrets")], []),
        (
            [rule("get", "pods")],
            [rule("get list watch", "pods")],
            ['{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}'],
        ),
        (
            [rule("get", "pods", resourceNames=["a"])],
            [rule("get", "pods", resourceNames=["a", "b"])],
            ['{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["get"]}'],
        ),
        (
            [rule("get", "pods", resourceNames=["a"])],
            [rule("get", "pods")],
            ['{APIGroups:[""], Resources:["pods"], Verbs:["get"]}'],
        ),
        (
            [{"nonResourceURLs": ["/a/*"], "verbs": ["get"]}],
            [{"nonResourceURLs": ["/a/b", "/c"], "verbs": ["get"]}],
            ['{NonResourceURLs:["/c"], Verbs:["get"]}'],
        ),
        ([rule("*", "*/scale")], [rule("get", "things/scale")], []),
        (
            [rule("get", "pods", resourceNames=[""])],
            [rule("get", "pods"), rule("get list", "pods", resourceNames=["", "a", "a"])],
            [
                '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
                '{APIGroups:[""], Resources:["pods"], ResourceNames:[""], Verbs:["list"]}',
                '{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], '
                'Verbs:["get" "get" "list" "list"]}',
            ],
        ),
        ([rule("get", "pods"), rule("list", "pods")], [rule("get list", "pods")], []),
        (
            [rule("get", "pods")],
            [rule("*", "pods")],
            ['{APIGroups:[""], Resources:["pods"], Verbs:["*"]}'],
        ),
    ],
)
def test_uncovered_rules_are_the_missing_permissions(
    owned: list[Document], wanted: list[Document], lacking: list[str]
) -> None:
    assert [format_rule(document) for document in uncovered_rules(owned, wanted)] == lacking


async def test_permissions_follow_roles_and_bindings() -> None:
    async with running() as admin:
        alice = Asking(admin.server, ALICE)
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 403
        await admin.create(BINDINGS, binding("b", "Group:team", "reader"))
        status, refused = await alice.ask("GET", CONFIG_MAPS)
        assert status == 403
        assert refused["message"].endswith(
            'RBAC: role.rbac.authorization.k8s.io "reader" not found'
        )
        await admin.create(ROLES, role("reader", rule("list", "configmaps")))
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 200
        assert (await alice.ask("GET", "/api/v1/configmaps"))[0] == 403
        await admin.merge(f"{ROLES}/reader", {"rules": [rule("get", "configmaps")]})
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 403
        await admin.merge(f"{ROLES}/reader", {"rules": [rule("*", "*")]})
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 200
        await admin.merge(f"{BINDINGS}/b", {"subjects": [{"kind": "User", "name": "bob"}]})
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 403
        await admin.merge(f"{BINDINGS}/b", {"subjects": [{"kind": "User", "name": "alice"}]})
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 200
        await admin.delete(f"{BINDINGS}/b")
        assert (await alice.ask("GET", CONFIG_MAPS))[0] == 403


async def test_a_list_of_one_name_needs_only_the_right_to_that_name() -> None:
    async with running() as admin:
        alice = Asking(admin.server, ALICE)
        await admin.create(CONFIG_MAPS, config_map("one"))
        named = rule("list", "configmaps", resourceNames=["one"])
        await admin.create(ROLES, role("r", named))
        await admin.create(BINDINGS, binding("b", "User:alice", "r"))
        assert await alice.names(CONFIG_MAPS, fieldSelector="metadata.name=one") == ["one"]
        for selector in ("metadata.name!=one", "metadata.name=two", ""):
            assert (await alice.ask("GET", CONFIG_MAPS, fieldSelector=selector))[0] == 403


async def test_default_roles_are_stored_by_a_server_that_runs_and_count_in_one_that_does_not() -> (
    None
):
    light = Server.open(None, clock=loop_clock())
    admins = authenticated_user("root", ("admins",))
    assert (await Asking(light, admins).ask("GET", "/api/v1/nodes"))[0] == 403
    bound = binding("b", "Group:admins", "cluster-admin", "ClusterRole", "ClusterRole")
    await Asking(light).create(f"{RBAC}/clusterrolebindings", bound)
    assert (await Asking(light, admins).ask("GET", "/api/v1/nodes"))[0] == 200
    assert (await Asking(light, ALICE).ask("GET", "/apis"))[0] == 200
    assert await Asking(light).names(f"{RBAC}/clusterroles") == []
    light.close()
    async with running() as admin:
        assert "cluster-admin" in await admin.names(f"{RBAC}/clusterroles")
        assert (await Asking(admin.server, ALICE).ask("GET", "/apis"))[0] == 200
        await admin.delete(f"{RBAC}/clusterrolebindings/system:discovery")
        assert (await Asking(admin.server, ALICE).ask("GET", "/apis"))[0] == 403


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/livez", 200),
        ("/readyz", 200),
        ("/version", 200),
        ("/apis", 403),
        ("/openapi/v3", 403),
        ("/metrics", 403),
        ("/api/v1/nodes", 403),
        ("/apis/nothing.dev/v1/things", 403),
        ("/openid/v1/jwks", 403),
    ],
)
async def test_anonymous_users_see_health_and_version(path: str, status: int) -> None:
    async with running() as admin:
        assert (await Asking(admin.server, ANONYMOUS).ask("GET", path))[0] == status


async def test_aggregated_roles_have_the_rules_of_those_that_they_choose() -> None:
    async with running() as admin:
        roles = f"{RBAC}/clusterroles"
        selector = {"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]}
        await admin.create(roles, role("sum", kind="ClusterRole", aggregationRule=selector))
        document, two = rule("get", "pods"), rule("get", "nodes")
        part = role("part", document, two, kind="ClusterRole", labels={"to": "sum"})
        await admin.create(roles, part)
        assert (await admin.get(f"{roles}/sum"))["rules"] == [document, two]
        await admin.merge(f"{roles}/part", {"rules": [two]})
        assert (await admin.get(f"{roles}/sum"))["rules"] == [two]
        edit = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
        mine = {"apiGroups": ["example.dev"], "resources": ["gizmos"], "verbs": ["get"]}
        await admin.create(roles, role("gizmos", mine, kind="ClusterRole", labels=edit))
        for name in ("view", "edit", "admin"):
            assert mine in (await admin.get(f"{roles}/{name}"))["rules"], name


async def test_nobody_can_grant_permissions_that_they_lack() -> None:
    async with running() as admin:
        alice = Asking(admin.server, ALICE)
        manage = {
            "apiGroups": ["rbac.authorization.k8s.io"],
            "resources": ["roles", "rolebindings"],
            "verbs": ["create", "update", "patch", "get"],
        }
        await admin.create(ROLES, role("manager", manage, rule("get", "pods")))
        await admin.create(BINDINGS, binding("manager", "User:alice", "manager"))
        big, small = role("big", rule("get", "secrets")), role("small", rule("get", "pods"))
        status, refused = await alice.ask("POST", ROLES, big)
        assert (status, refused["details"]["name"]) == (403, "big")
        await alice.create(ROLES, small)
        await admin.create(ROLES, big)
        for to, kind in (("big", "Role"), ("cluster-admin", "ClusterRole")):
            request = binding("mine", "User:alice", to, kind)
            assert (await alice.ask("POST", BINDINGS, request))[0] == 403
            assert (await alice.ask("POST", BINDINGS, request, dryRun="All"))[0] == 403
        assert (await alice.ask("POST", BINDINGS, binding("x", "User:alice", "none")))[0] == 404
        await alice.merge(f"{ROLES}/big", {"metadata": {"finalizers": ["example.dev/x"]}})
        assert (
            await alice.ask(
                "PATCH",
                f"{ROLES}/small",
                {"rules": big["rules"]},
                "application/merge-patch+json",
            )
        )[0] == 403
        bind = {**manage, "resources": ["roles"], "verbs": ["bind"], "resourceNames": ["big"]}
        escalate = {**manage, "resources": ["roles"], "verbs": ["escalate"]}
        await admin.create(ROLES, role("more", bind))
        await admin.create(BINDINGS, binding("more", "User:alice", "more"))
        await alice.create(BINDINGS, binding("allowed", "User:alice", "big"))
        await admin.merge(f"{ROLES}/more", {"rules": [escalate]})
        await alice.merge(f"{ROLES}/small", {"rules": [rule("*", "*")]})


def _wish(*headers: tuple[str, str]) -> Any:
    return parse_impersonation(
        [(f"impersonate-{name}".encode(), value.encode()) for name, value in headers]
    )


def test_impersonation_needs_a_user_header() -> None:
    assert parse_impersonation([(b"accept", b"*/*")]) is None
    with pytest.raises(BadRequest, match="without impersonating a user name"):
        _wish(("extra-Some%2Fkey", "v"))


@pytest.mark.parametrize(
    ("headers", "user"),
    [
        ([("user", "bob")], User("bob", ("system:authenticated",))),
        (
            [("user", "bob"), ("group", "a"), ("group", "b,c"), ("uid", "7")],
            User("bob", ("a", "b,c", "system:authenticated"), "7"),
        ),
        (
            [("user", "bob"), ("extra-some%2fkey", "v"), ("extra-some%2fkey", "w")],
            User("bob", ("system:authenticated",), "", {"some/key": ("v", "w")}),
        ),
        ([("user", "system:anonymous")], User("system:anonymous", ("system:unauthenticated",))),
    ],
)
def test_impersonation_headers_map_to_a_user(headers: list[tuple[str, str]], user: User) -> None:
    assert ImpersonationAuthorizer()(_wish(*headers), wanted("get", "pods"), lambda _: "") == user


@pytest.mark.parametrize(
    ("rights", "allowed"),
    [
        ([("impersonate", "users"), ("impersonate", "groups")], True),
        ([("impersonate", "users")], False),
        (
            [
                ("impersonate-on:user-info:get", "pods"),
                ("impersonate:user-info", "users"),
                ("impersonate:user-info", "groups"),
            ],
            True,
        ),
        ([("impersonate-on:user-info:get", "pods"), ("impersonate:user-info", "users")], False),
        ([("impersonate:user-info", "users"), ("impersonate:user-info", "groups")], False),
    ],
)
def test_impersonation_needs_all_permissions(
    rights: list[tuple[str, str]],
    allowed: bool,
) -> None:
    def authorize(attributes: Attributes) -> str:
        if (attributes.verb, attributes.resource) not in rights:
            raise attributes.forbidden_error()
        return ""

    wish = _wish(("user", "bob"), ("group", "g"))
    if allowed:
        assert ImpersonationAuthorizer()(wish, wanted("get", "pods"), authorize).name == "bob"
    else:
        with pytest.raises(Forbidden):
            ImpersonationAuthorizer()(wish, wanted("get", "pods"), authorize)


async def _token(admin: Asking, name: str = "robot", **spec: Any) -> str:
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
    result = await admin.create(f"{ACCOUNTS}/{name}/token", body)
    token: str = result["status"]["token"]
    return token


def account(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}


async def test_a_token_is_valid_while_its_service_account_and_pod_exist() -> None:
    async with running() as admin:
        result = await admin.create(ACCOUNTS, account("robot"))
        authentication = Authenticator()
        admin.server.access.authenticate_by(authentication)
        token = await _token(admin)
        user = authentication.authenticate(f"Bearer {token}", None)
        assert user.name == "system:serviceaccount:default:robot"
        assert user.uid == result["metadata"]["uid"]
        assert set(user.groups) == {
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            "system:authenticated",
        }
        await admin.create(ROLES, role("r", rule("list", "configmaps")))
        await admin.create(BINDINGS, binding("b", "ServiceAccount:robot", "r"))
        assert (await Asking(admin.server, user).ask("GET", CONFIG_MAPS))[0] == 200
        await admin.delete(f"{ACCOUNTS}/robot")
        await admin.create(ACCOUNTS, account("robot"))
        with pytest.raises(Unauthorized):
            authentication.authenticate(f"Bearer {token}", None)


async def test_invalid_tokens_are_refused() -> None:
    now = loop_clock()
    later = timedelta()
    server = Server.open(None, clock=lambda: now() + later)
    admin, other = Asking(server), Asking(Server.open(None, clock=now))
    for asking in (admin, other):
        ensure_system_namespaces(asking.server.context)
        await asking.create(ACCOUNTS, account("robot"))
    await admin.create(CONFIG_MAPS.replace("configmaps", "secrets"), _secret())
    tokens = server.access.tokens
    good = await _token(admin)
    foreign = await _token(other)
    elsewhere = await _token(admin, audiences=["vault"])
    secret = {"apiVersion": "v1", "kind": "Secret", "name": "s"}
    bound = await _token(admin, boundObjectRef=secret)
    head, claims, signature = good.split(".")
    document = json.loads(base64.urlsafe_b64decode(claims + "=="))
    document["sub"] = "system:serviceaccount:kube-system:root"
    forged = base64.urlsafe_b64encode(json.dumps(document).encode()).rstrip(b"=").decode()
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode()
    for bad in (
        *("", "a.b.c", good + "A", foreign, elsewhere),
        *(f"{head}.{forged}.{signature}", f"{none}.{claims}.", f"{head}.{claims}."),
    ):
        assert not _accepted(tokens, bad), bad
    assert (tokens.identity(elsewhere, ("x", "vault")) or _NOBODY).audiences == ("vault",)
    assert _user(tokens, bound).name == _user(tokens, good).name
    await admin.delete(CONFIG_MAPS.replace("configmaps", "secrets") + "/s")
    assert not _accepted(tokens, bound)
    later = timedelta(seconds=3659)  # clocks may differ by a minute
    assert _accepted(tokens, good)
    later = timedelta(seconds=3662)
    assert not _accepted(tokens, good)
    later = timedelta(seconds=-62)
    assert not _accepted(tokens, good)
    server.close()
    other.server.close()


def _user(tokens: ServiceAccountTokens, token: str) -> User:
    identity = tokens.identity(token)
    assert identity is not None
    return identity.user


def _accepted(tokens: ServiceAccountTokens, token: str) -> bool:
    try:
        return tokens.identity(token) is not None
    except ServiceTokenError:
        return False


def _secret() -> Document:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}


@pytest.mark.parametrize(
    ("name", "spec", "status"),
    [
        ("robot", {"expirationSeconds": 599}, 422),
        ("robot", {"expirationSeconds": 1 << 33}, 422),
        ("nobody", {}, 404),
        ("robot", {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "x"}}, 404),
        ("robot", {"boundObjectRef": {"apiVersion": "v1", "kind": "Node2", "name": "x"}}, 400),
    ],
)
async def test_invalid_token_requests_are_refused(name: str, spec: Document, status: int) -> None:
    async with running() as admin:
        await admin.create(ACCOUNTS, account("robot"))
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        assert (await admin.ask("POST", f"{ACCOUNTS}/{name}/token", body))[0] == status


async def test_the_key_stays_with_the_data_and_is_private(tmp_path: Path) -> None:
    server = Server.open(tmp_path, clock=loop_clock())
    ensure_system_namespaces(server.context)
    await Asking(server).create(ACCOUNTS, account("robot"))
    token = await _token(Asking(server))
    server.close()
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600
    again = Server.open(tmp_path, clock=loop_clock())
    assert _user(again.access.tokens, token).name.endswith(":robot")
    (key,) = (await Asking(again).get("/openid/v1/jwks"))["keys"]
    assert "d" not in key
    again.close()


async def test_access_reviews_tell_the_permissions_of_their_user() -> None:
    async with running() as admin:
        alice = Asking(admin.server, ALICE)
        await admin.create(ROLES, role("r", rule("get", "configmaps")))
        await admin.create(BINDINGS, binding("b", "User:alice", "r"))
        request = {"namespace": "default", "verb": "get", "resource": "configmaps"}

        async def review(by: Asking, kind: str, spec: Document, space: str = "") -> Any:
            group = "authentication" if kind == "TokenReview" else "authorization"
            api = f"{group}.k8s.io/v1"
            path = f"/apis/{api}{space}/{kind.lower()}s"
            body = {"apiVersion": api, "kind": kind, "spec": spec}
            return (await by.create(path, body))["status"]

        own = await review(alice, "SelfSubjectAccessReview", {"resourceAttributes": request})
        why = 'RBAC: allowed by RoleBinding "b/default" of Role "r" to User "alice"'
        assert own == {"allowed": True, "reason": why}
        spec = {"user": "bob", "groups": ["team"], "resourceAttributes": request}
        assert await review(admin, "SubjectAccessReview", spec) == {"allowed": False}
        spec["user"] = "alice"
        here = "/namespaces/default"
        assert (await review(admin, "LocalSubjectAccessReview", spec, here))["allowed"]
        listed = await review(alice, "SelfSubjectRulesReview", {"namespace": "default"})
        assert {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]} in listed[
            "resourceRules"
        ]
        await admin.create(ACCOUNTS, account("robot"))
        result = await review(admin, "TokenReview", {"token": await _token(admin)})
        assert result["authenticated"]
        assert result["user"]["username"] == "system:serviceaccount:default:robot"
        assert "authenticated" not in await review(admin, "TokenReview", {"token": "x.y.z"})
