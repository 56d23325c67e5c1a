"""Nobody gets around a rule: what is done is what was authorized, however it is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.apiserver.auth.authentication import Authenticator, InvalidToken, authenticated_user
from kapy.apiserver.auth.rbac.grants import RBACAuthorizer
from kapy.apiserver.auth.rbac.rules import MOST_COMBINATIONS
from kapy.kube import Document
from kapy.kube.http import APPLY_PATCH, MERGE_PATCH
from tests.apiserver.requester import CONFIG_MAPS, GIZMOS, Asking, config_map, gizmo, running

ALICE = authenticated_user("alice", ("team",))
GROUP = "rbac.authorization.k8s.io"
RBAC = f"/apis/{GROUP}/v1"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
EVERY = ["create", "get", "list", "watch", "update", "patch", "delete", "deletecollection"]
REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
TOKEN_REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SELECTED = {"fieldSelector": "metadata.name=ok"}


def rule(verbs: list[str], resources: str, group: str = "", /, **more: Any) -> Document:
    return {"apiGroups": [group], "resources": resources.split(), "verbs": verbs, **more}


async def allow(admin: Asking, *rules: Document, name: str = "alice") -> None:
    """Give alice rules."""
    api = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": name}}
    role = {**api, "kind": "ClusterRole", "rules": list(rules)}
    await admin.create(f"{RBAC}/clusterroles", role)
    reference = {"apiGroup": GROUP, "kind": "ClusterRole", "name": name}
    subjects = [{"kind": "User", "name": "alice"}]
    binding = {**api, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": subjects}
    await admin.create(f"{RBAC}/clusterrolebindings", binding)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "", 403),  # a selector once gave a creation the name that it selects
        ("PUT", "/evil", 403),
        ("PATCH", "/evil", 403),
        ("DELETE", "", 403),
        ("DELETE", "/evil", 403),
        ("GET", "/evil", 403),
        ("POST", "/ok", 405),  # a creation at the path of one object made another one
    ],
)
async def test_a_right_to_one_name_is_for_that_name(method: str, path: str, status: int) -> None:
    async with running() as admin:
        await allow(admin, rule(EVERY, "configmaps", resourceNames=["ok"]))
        await admin.create(CONFIG_MAPS, config_map("ok"))
        await admin.create(CONFIG_MAPS, config_map("there"))
        body = {"POST": config_map("evil"), "PUT": config_map("evil"), "PATCH": {}}.get(method)
        media = MERGE_PATCH if method == "PATCH" else ""
        alice = Asking(admin.server, ALICE)
        for query in ({}, SELECTED, {**SELECTED, "dryRun": "All"}):
            answer = await alice.ask(method, CONFIG_MAPS + path, body, media, **query)
            assert answer[0] == status, answer
        names = set(await admin.names(CONFIG_MAPS))
        assert {"ok", "there"} <= names
        assert "evil" not in names
        assert await alice.names(CONFIG_MAPS, **SELECTED) == ["ok"]


async def test_a_custom_resource_is_created_at_a_path_by_its_own_name_only() -> None:
    async with running() as admin:
        await allow(admin, rule(["create"], "gizmos", "example.dev", resourceNames=["ok"]))
        alice = Asking(admin.server, ALICE)
        assert (await alice.ask("POST", f"{GIZMOS}/ok", gizmo("evil")))[0] == 400
        unnamed = {**gizmo("x"), "metadata": {"generateName": "evil-"}}
        assert (await alice.ask("POST", f"{GIZMOS}/ok", unnamed))[0] == 400
        assert (await alice.ask("POST", GIZMOS, gizmo("ok")))[0] == 403
        assert (await alice.ask("POST", f"{GIZMOS}/ok", gizmo("ok")))[0] == 201
        assert await admin.names(GIZMOS) == ["ok"]


async def test_a_right_to_watch_is_no_right_to_write() -> None:
    async with running() as admin:
        await allow(admin, rule(["watch"], "configmaps"), rule(["watch"], "gizmos", "example.dev"))
        alice = Asking(admin.server, ALICE)
        for path, body in ((CONFIG_MAPS, config_map("x")), (GIZMOS, gizmo("x"))):
            watch = path.replace("/v1/", "/v1/watch/")
            assert (await alice.ask("POST", watch, body))[0] == 405
            assert (await alice.ask("DELETE", watch))[0] == 405
            assert (await alice.ask("DELETE", f"{watch}/x"))[0] == 405
            assert "x" not in await admin.names(path)


@pytest.mark.parametrize(
    ("path", "resources"),
    [
        (f"{ACCOUNTS}/robot/token", "serviceaccounts/token"),
        ("/api/v1/namespaces/default/pods/p/eviction", "pods/eviction"),
        ("/api/v1/namespaces/default/finalize", "namespaces/finalize"),
    ],
)
async def test_a_right_to_a_part_is_no_right_to_the_whole(path: str, resources: str) -> None:
    async with running() as admin:
        await allow(admin, rule(EVERY, resources))
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await admin.create(ACCOUNTS, account)
        alice = Asking(admin.server, ALICE)
        change = {"metadata": {"labels": {"evil": "true"}}}
        for method, body in (("GET", None), ("PATCH", change), ("DELETE", None)):
            media = MERGE_PATCH if body else ""
            assert (await alice.ask(method, path, body, media))[0] == 405, method
        assert "labels" not in (await admin.get(f"{ACCOUNTS}/robot"))["metadata"]


async def test_the_right_to_the_empty_name_is_not_the_right_to_all() -> None:
    async with running() as admin:
        write = rule(["create"], "roles clusterroles", GROUP)
        await allow(admin, write, rule(["get"], "secrets", resourceNames=[""]))
        alice = Asking(admin.server, ALICE)
        for names, status in ((None, 403), ([], 403), (["a"], 403), ([""], 201)):
            more = {} if names is None else {"resourceNames": names}
            wanted = [rule(["get"], "secrets", **more)]
            api = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "rules": wanted}
            document = {**api, "metadata": {"name": "new"}}
            answer = await alice.ask("POST", f"{RBAC}/clusterroles", document)
            assert answer[0] == status, (names, answer)


async def test_the_permission_to_escalate_a_role_needs_its_name() -> None:
    async with running() as admin:
        write = rule(["create", "patch"], "clusterroles", GROUP)
        await allow(admin, write, rule(["escalate"], "clusterroles", GROUP, resourceNames=["esc"]))
        alice = Asking(admin.server, ALICE)
        api = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": "esc"}}
        document = {**api, "rules": [rule(["get"], "secrets")]}
        assert (await alice.ask("POST", f"{RBAC}/clusterroles", document))[0] == 403
        query = {"fieldManager": "alice"}
        apply = (f"{RBAC}/clusterroles/esc", document, APPLY_PATCH)
        assert (await alice.ask("PATCH", *apply, **query))[0] == 201
        other = {**document, "metadata": {"name": "other"}}
        apply = (f"{RBAC}/clusterroles/other", other, APPLY_PATCH)
        assert (await alice.ask("PATCH", *apply, **query))[0] == 403


async def test_a_binding_counts_once_by_the_first_of_its_subjects() -> None:
    async with running() as admin:
        await allow(admin, rule(["get"], "pods"), name="both")
        group = {"kind": "Group", "name": "team", "apiGroup": GROUP}
        user = {"kind": "User", "name": "alice", "apiGroup": GROUP}
        binding = f"{RBAC}/clusterrolebindings/both"
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        request = {**review, "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
        alice = Asking(admin.server, ALICE)
        for subjects, named in (([group, user], 'Group "team"'), ([user, group], 'User "alice"')):
            await admin.merge(binding, {"subjects": subjects})
            status = (await alice.create(REVIEWS, request))["status"]
            text = f'RBAC: allowed by ClusterRoleBinding "both" of ClusterRole "both" to {named}'
            assert status["reason"] == text
            rules = {**review, "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}}
            listed = await alice.create(REVIEWS.replace("access", "rules"), rules)
            own = [
                item for item in listed["status"]["resourceRules"] if "pods" in item["resources"]
            ]
            assert len(own) == 1


async def test_a_review_of_no_resource_is_not_a_review_of_a_path() -> None:
    async with running() as admin:
        await allow(admin, {"nonResourceURLs": ["*"], "verbs": ["*"]})
        alice = Asking(admin.server, ALICE)

        async def may(**spec: Any) -> bool:
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
            result = await alice.create(REVIEWS, {**review, "spec": spec})
            return bool(result["status"]["allowed"])

        assert await may(nonResourceAttributes={"path": "/x", "verb": "get"})
        assert not await may(resourceAttributes={"verb": "get"})
        assert not await may(resourceAttributes={"verb": "get", "name": "x"})


async def test_roles_with_too_many_rules_are_refused_at_once() -> None:
    async with running() as admin:
        await allow(admin, rule(["create"], "clusterroles", GROUP))
        many = [f"x{number}" for number in range(300)]
        huge = {**rule(["get"], "pods"), "apiGroups": many, "resources": many, "verbs": many}
        api = {"apiVersion": f"{GROUP}/v1", "kind": "ClusterRole", "rules": [huge]}
        alice = Asking(admin.server, ALICE)
        document = {**api, "metadata": {"name": "new"}}
        status, refused = await alice.ask("POST", f"{RBAC}/clusterroles", document)
        assert status == 403
        assert "90000 combinations" in refused["message"]
        assert f"at most {MOST_COMBINATIONS}" in refused["message"]
        assert len(refused["message"]) < 1000


async def test_long_access_reviews_are_answered_and_not_cached() -> None:
    async with running() as admin:
        grants = RBACAuthorizer(admin.server.store)
        admin.server.access.grants = admin.server.access.authorize = grants
        alice = Asking(admin.server, ALICE)
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview"}
        for length in (10, 100_000):
            request = {"verb": "get", "resource": "pods", "name": "x" * length}
            await alice.create(REVIEWS, {**review, "spec": {"resourceAttributes": request}})
        lengths = [len(str(key)) for key in grants._decided]
        assert lengths
        assert max(lengths) < 2000


OWN = "https://kubernetes.default.svc.cluster.local"


@pytest.mark.parametrize(
    ("has", "audiences", "expected"),
    [
        ([], [], [OWN]),
        ([], ["vault", OWN], [OWN]),
        ([], ["vault"], None),
        (["vault"], [], None),
        (["vault"], ["vault", OWN], ["vault"]),
        (["vault", OWN], ["other", OWN, "vault", OWN], [OWN, "vault", OWN]),
        (["vault", OWN], [], [OWN]),
        ([""], [""], [""]),
        ([""], [], None),
    ],
)
async def test_a_review_tells_the_audiences_that_a_token_has(
    has: list[str], audiences: list[str], expected: list[str] | None
) -> None:
    async with running() as admin:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
        await admin.create(ACCOUNTS, account)
        api = {"apiVersion": "authentication.k8s.io/v1"}
        request = {**api, "kind": "TokenRequest", "spec": {"audiences": has}}
        token = await admin.create(f"{ACCOUNTS}/robot/token", request)
        spec = {"token": token["status"]["token"], "audiences": audiences}
        token_review = await admin.create(
            TOKEN_REVIEWS, {**api, "kind": "TokenReview", "spec": spec}
        )
        status = token_review["status"]
        assert status.get("authenticated", False) is (expected is not None)
        assert status.get("audiences") == expected
        assert ("error" in status) is (expected is None)


@pytest.mark.parametrize(
    ("audiences", "expected"),
    [((OWN,), (OWN,)), (("vault", OWN), (OWN,)), (("vault",), None), ((), None)],
)
def test_tokens_of_a_file_are_for_the_server_itself(
    audiences: tuple[str, ...], expected: tuple[str, ...] | None
) -> None:
    authentication = Authenticator({"secret": ALICE})
    if expected is None:
        with pytest.raises(InvalidToken, match=r"^invalid bearer token$"):
            authentication.token_identity("secret", audiences)
    else:
        identity = authentication.token_identity("secret", audiences)
        assert (identity.user, identity.audiences) == (ALICE, expected)


@pytest.mark.parametrize("part", ["exec", "attach", "portforward"])
async def test_a_websocket_needs_the_right_to_create(part: str) -> None:
    """It is a GET, and does as much as a POST that becomes SPDY."""
    async with running() as admin:
        await allow(admin, rule(["get"], f"pods/{part} pods/log"))
        alice = Asking(admin.server, ALICE)
        path = f"/api/v1/namespaces/default/pods/p/{part}"
        status, body = await alice.ask("GET", path, command="id")
        assert status == 403, body
        assert f'cannot create resource "pods/{part}"' in body["message"]
        status, _ = await alice.ask("GET", "/api/v1/namespaces/default/pods/p/log")
        assert status != 403, "others need the right to get only"
        await allow(admin, rule(["create"], f"pods/{part}"), name="more")
        status, _ = await alice.ask("GET", path, command="id")
        assert status != 403
