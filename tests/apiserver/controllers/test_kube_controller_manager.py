"""Tests of kube-controller-manager's controllers: accounts, disruption budgets, tokens, events."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.controllers.event_expiry import EventExpiry
from kapy.apiserver.controllers.namespaces import ensure_system_namespaces
from kapy.apiserver.server import Server, ServerWithoutKubelets
from kapy.apiserver.server.kube_controller_manager import add_kube_controllers
from kapy.kube import Document
from tests.apiserver.requester import CONFIG_MAPS, Asking, config_map, running

SPACE = "/api/v1/namespaces/default"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SETS = "/apis/apps/v1/namespaces/default/replicasets"
AUTHORITY = "-----BEGIN CERTIFICATE-----\nyes\n-----END CERTIFICATE-----\n"
BLOCKED = "Cannot evict pod as it would violate the pod's disruption budget."


@pytest.fixture(params=["memory", "disk"])
async def asking(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Asking]:
    """A server with the controllers of kube-controller-manager."""
    async with running(tmp_path if request.param == "disk" else None) as result:
        add_kube_controllers(result.server, authority=AUTHORITY)
        yield result


@pytest.fixture(params=["memory", "disk"])
async def without_kubelets(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Asking]:
    """A server with the controllers of kube-controller-manager, whose pods end at once."""
    path = tmp_path if request.param == "disk" else None
    async with running(path, server_class=ServerWithoutKubelets) as requester:
        add_kube_controllers(requester.server, authority=AUTHORITY)
        yield requester


async def namespace(asking: Asking, name: str) -> None:
    document = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await asking.create("/api/v1/namespaces", document)
    await asyncio.sleep(0)


class TestEveryNamespace:
    async def test_a_new_namespace_has_a_service_account_and_the_ca(self, asking: Asking) -> None:
        await namespace(asking, "new")
        for space in ("default", "kube-system", "new"):
            at = f"/api/v1/namespaces/{space}"
            assert await asking.names(f"{at}/serviceaccounts") == ["default"]
            published = await asking.get(f"{at}/configmaps/kube-root-ca.crt")
            assert published["data"] == {"ca.crt": AUTHORITY}
        body = {"spec": {"expirationSeconds": 600}}
        status, _ = await asking.ask("POST", f"{at}/serviceaccounts/default/token", body)
        assert status == 201

    async def test_deleted_or_changed_objects_are_restored(self, asking: Asking) -> None:
        before = await asking.get(f"{SPACE}/serviceaccounts/default")
        await asking.delete(f"{SPACE}/serviceaccounts/default")
        await asyncio.sleep(0)
        after = await asking.get(f"{SPACE}/serviceaccounts/default")
        assert before["metadata"]["uid"] != after["metadata"]["uid"]
        await asking.merge(f"{CONFIG_MAPS}/kube-root-ca.crt", {"data": {"ca.crt": "other"}})
        await asyncio.sleep(0)
        assert (await asking.get(f"{CONFIG_MAPS}/kube-root-ca.crt"))["data"]["ca.crt"] == AUTHORITY

    async def test_objects_are_deleted_with_their_namespace(self, asking: Asking) -> None:
        await namespace(asking, "new")
        await asking.delete("/api/v1/namespaces/new")
        await asyncio.sleep(0.1)
        assert await asking.gone("/api/v1/namespaces/new")
        assert await asking.names("/api/v1/namespaces/new/serviceaccounts") == []


def pod(name: str, owner: Document | None = None) -> Document:
    meta: Document = {"name": name, "labels": {"app": "web"}}
    if owner is not None:
        reference = {key: owner[key] for key in ("apiVersion", "kind")} | {"controller": True}
        metadata = owner["metadata"]
        meta["ownerReferences"] = [{**reference, "name": metadata["name"], "uid": metadata["uid"]}]
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


async def pods(asking: Asking, count: int, owner: Document | None = None) -> None:
    """Pods that run and are ready."""
    for number in range(count):
        await asking.create(f"{SPACE}/pods", pod(f"p{number}", owner))
        await readiness(asking, f"p{number}", "True")


async def readiness(asking: Asking, name: str, ready: str) -> None:
    conditions = [{"type": "Ready", "status": ready}]
    await asking.merge(
        f"{SPACE}/pods/{name}/status", {"status": {"phase": "Running", "conditions": conditions}}
    )


async def replica_set(asking: Asking, replicas: int) -> Document:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("")["spec"]}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": "web"}},
        "template": template,
    }
    machine_set: Document = await asking.create(
        SETS,
        {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}, "spec": spec},
    )
    return machine_set


async def budget(asking: Asking, **spec: Any) -> None:
    document = {"selector": {"matchLabels": {"app": "web"}}, **spec}
    await asking.create(
        BUDGETS,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": document,
        },
    )
    await asyncio.sleep(0)


async def counted(asking: Asking) -> tuple[int, int, int, int, str]:
    """Allowed disruptions; healthy, wanted and expected pods; the condition's reason."""
    await asyncio.sleep(0)
    result = await asking.get(f"{BUDGETS}/b")
    status = result["status"]
    assert status["observedGeneration"] == result["metadata"]["generation"]
    (condition,) = status["conditions"]
    assert condition["status"] == ("True" if status["disruptionsAllowed"] else "False")
    return (
        status["disruptionsAllowed"],
        status["currentHealthy"],
        status["desiredHealthy"],
        status["expectedPods"],
        condition["reason"],
    )


async def evict(asking: Asking, name: str) -> tuple[int, Any]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return await asking.ask("POST", f"{SPACE}/pods/{name}/eviction", body)


class TestBudgets:
    @pytest.mark.parametrize(
        ("spec", "owned", "expected"),
        [
            ({"minAvailable": 2}, False, (1, 3, 2, 3, "SufficientPods")),
            ({"minAvailable": 3}, False, (0, 3, 3, 3, "InsufficientPods")),
            ({"minAvailable": "50%"}, True, (1, 3, 2, 4, "SufficientPods")),
            ({"maxUnavailable": 1}, True, (0, 3, 3, 4, "InsufficientPods")),
            ({"maxUnavailable": "50%"}, True, (1, 3, 2, 4, "SufficientPods")),
            ({"maxUnavailable": 1}, False, (0, 3, 0, 0, "InsufficientPods")),
            ({"minAvailable": 0}, False, (3, 3, 0, 3, "SufficientPods")),
        ],
    )
    async def test_budgets_count_their_pods(
        self, asking: Asking, spec: Document, owned: bool, expected: tuple[Any, ...]
    ) -> None:
        """Three ready pods, of a ReplicaSet that wants four or of nobody."""
        owner = await replica_set(asking, 4) if owned else None
        await pods(asking, 3, owner)
        await budget(asking, **spec)
        assert await counted(asking) == expected

    async def test_budgets_follow_pods_and_their_spec(self, asking: Asking) -> None:
        await budget(asking, minAvailable=1)
        assert await counted(asking) == (0, 0, 1, 0, "InsufficientPods")
        await pods(asking, 2)
        assert await counted(asking) == (1, 2, 1, 2, "SufficientPods")
        await readiness(asking, "p0", "False")
        assert await counted(asking) == (0, 1, 1, 2, "InsufficientPods")
        await asking.merge(f"{BUDGETS}/b", {"spec": {"minAvailable": 0}})
        assert await counted(asking) == (1, 1, 0, 2, "SufficientPods")

    async def test_budgets_of_an_unknown_number_of_pods_allow_no_eviction(
        self, asking: Asking
    ) -> None:
        owner = await asking.create(CONFIG_MAPS, config_map("no-workload"))
        await pods(asking, 2, owner)
        await budget(asking, maxUnavailable=1)
        await asyncio.sleep(0)
        status = (await asking.get(f"{BUDGETS}/b"))["status"]
        (condition,) = status["conditions"]
        assert (status["disruptionsAllowed"], condition["reason"]) == (0, "SyncFailed")
        assert condition["message"] == 'found no controllers for pod "p0"'

    async def test_concurrent_evictions_respect_the_budget(self, without_kubelets: Asking) -> None:
        asking = without_kubelets
        await pods(asking, 5)
        await budget(asking, minAvailable=3)
        answers = await asyncio.gather(*(evict(asking, f"p{number}") for number in range(5)))
        assert [status for status, _ in answers] == [201, 201, 429, 429, 429]
        assert answers[2][1]["message"] == BLOCKED
        assert await counted(asking) == (0, 3, 3, 3, "InsufficientPods")

    async def test_an_unready_pod_may_be_evicted_while_enough_others_are_ready(
        self, asking: Asking
    ) -> None:
        await pods(asking, 3)
        await readiness(asking, "p0", "False")
        await budget(asking, minAvailable=2)
        assert (await counted(asking))[0] == 0
        assert (await evict(asking, "p1"))[0] == 429
        assert (await evict(asking, "p0"))[0] == 201

    async def test_an_eviction_is_visible_before_the_pod_is_deleted(self, asking: Asking) -> None:
        await pods(asking, 2)
        await budget(asking, minAvailable=1)
        await asking.merge(f"{SPACE}/pods/p0", {"metadata": {"finalizers": ["x.dev/kept"]}})
        assert (await evict(asking, "p0"))[0] == 201
        assert await counted(asking) == (0, 1, 1, 2, "InsufficientPods")
        pod = await asking.get(f"{SPACE}/pods/p0")
        assert pod["metadata"]["deletionTimestamp"]
        entries = {
            condition["type"]: condition.get("reason") for condition in pod["status"]["conditions"]
        }
        assert entries["DisruptionTarget"] == "EvictionByEvictionAPI"

    async def test_a_dry_run_does_not_use_the_budget(self, asking: Asking) -> None:
        await pods(asking, 2)
        await budget(asking, minAvailable=1)
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p0"}}
        status, _ = await asking.ask("POST", f"{SPACE}/pods/p0/eviction", body, dryRun="All")
        assert status == 201
        assert await counted(asking) == (1, 2, 1, 2, "SufficientPods")
        assert len(await asking.names(f"{SPACE}/pods")) == 2


async def test_an_eviction_from_two_budgets_is_refused() -> None:
    async with running() as asking:
        await pods(asking, 1)
        for name in ("a", "b"):
            spec = {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": 0}
            kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
            await asking.create(BUDGETS, {**kind, "metadata": {"name": name}, "spec": spec})
        status, body = await evict(asking, "p0")
        assert (status, "more than one" in body["message"]) == (500, True)


async def test_an_eviction_by_an_uncounted_budget_is_to_be_retried() -> None:
    async with running() as asking:
        await pods(asking, 1)
        await budget(asking, minAvailable=1)
        status, body = await evict(asking, "p0")
        assert (status, body["details"]["retryAfterSeconds"]) == (429, 10)


async def token_secret(asking: Asking, account: str) -> None:
    annotations = {"kubernetes.io/service-account.name": account}
    await asking.create(
        f"{SPACE}/secrets",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "t", "annotations": annotations},
            "type": "kubernetes.io/service-account-token",
        },
    )
    await asyncio.sleep(0)


class TestTokenSecrets:
    async def test_a_token_secret_holds_a_token_while_it_exists(self, asking: Asking) -> None:
        await token_secret(asking, "default")
        data = (await asking.get(f"{SPACE}/secrets/t"))["data"]
        read = {key: base64.b64decode(value).decode() for key, value in data.items()}
        token = read.pop("token")
        assert read == {"namespace": "default", "ca.crt": AUTHORITY}
        identity = asking.server.access.tokens.identity(token)
        assert identity is not None
        user = identity.user
        assert user.name == "system:serviceaccount:default:default"
        await asking.delete(f"{SPACE}/secrets/t")
        review = {"spec": {"token": token}}
        _, result = await asking.ask(
            "POST", "/apis/authentication.k8s.io/v1/tokenreviews", dict(review)
        )
        assert "authenticated" not in result["status"]

    async def test_token_secrets_are_deleted_with_their_account(self, asking: Asking) -> None:
        kind = {"apiVersion": "v1", "kind": "ServiceAccount"}
        await asking.create(f"{SPACE}/serviceaccounts", {**kind, "metadata": {"name": "robot"}})
        await token_secret(asking, "robot")
        assert not await asking.gone(f"{SPACE}/secrets/t")
        await asking.delete(f"{SPACE}/serviceaccounts/robot")
        await asyncio.sleep(0)
        assert await asking.gone(f"{SPACE}/secrets/t")

    async def test_token_secrets_without_a_service_account_are_deleted(
        self, asking: Asking
    ) -> None:
        await token_secret(asking, "nobody")
        assert await asking.gone(f"{SPACE}/secrets/t")


async def test_events_end_an_hour_after_they_were_last_seen(tmp_path: Path) -> None:
    def event(name: str) -> Document:
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        meta = {"name": name, "namespace": "default"}
        return {"apiVersion": "v1", "kind": "Event", "metadata": meta, "involvedObject": about}

    at = f"{SPACE}/events"
    clock = loop_clock()
    server = Server.open(tmp_path, clock=clock)
    ensure_system_namespaces(server.context)
    await Asking(server).create(at, event("before"))
    server.close()
    await asyncio.sleep(600)
    server = Server.open(tmp_path, clock=clock)
    asking = Asking(server)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(EventExpiry(server.context).run())
        await asyncio.sleep(0)
        for name in ("once", "again"):
            await asking.create(at, event(name))
        await asyncio.sleep(1800)
        await asking.merge(f"{at}/again", {"count": 2})
        assert await asking.names(at) == ["again", "before", "once"]
        await asyncio.sleep(1500)
        assert await asking.names(at) == ["again", "once"]
        await asyncio.sleep(600)
        assert await asking.names(at) == ["again"]
        await asyncio.sleep(1800)
        assert await asking.names(at) == []
        task.cancel()
    server.close()


async def test_events_in_memory_expire_in_order() -> None:
    at = f"{SPACE}/events"
    server = Server.open(None, clock=loop_clock())
    ensure_system_namespaces(server.context)
    asking = Asking(server)
    async with asyncio.TaskGroup() as group:
        task = group.create_task(EventExpiry(server.context).run())
        await asyncio.sleep(0)
        for name in ("first", "second"):
            about = {"kind": "Pod", "namespace": "default", "name": "p"}
            meta = {"name": name, "namespace": "default"}
            event = {"apiVersion": "v1", "kind": "Event", "metadata": meta}
            await asking.create(at, {**event, "involvedObject": about})
            await asyncio.sleep(60)
        await asyncio.sleep(3500)
        assert await asking.names(at) == ["second"]
        await asyncio.sleep(60)
        assert await asking.names(at) == []
        task.cancel()
    server.close()
