"""Each tenant acts with credentials of its own, and only where these may be used."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import pytest

from kapy.api.cluster import Cluster
from kapy.clusterctl.move.graph import Graph
from kapy.clusterctl.move.kinds import MOVE_HIERARCHY, kinds_of
from kapy.clusterctl.move.plan import PlannedMove, Treatment, plan_move
from kapy.kube import Document, Key
from kapy.kube.names import NAMESPACES, SECRETS, Resource
from kapy.sdk import (
    ClusterContext,
    ClusterProvisioned,
    MachineContext,
    Provisioned,
    Released,
    Waiting,
    add_infra_cluster,
    add_infra_machine,
)
from kapy.sdk.credentials import Credential, Sessions, TenantCredentials
from kapy.sdk.credentials_of_tenants import is_allowed
from kapy.testing.provider_bench import ProviderBench, key, provider_bench
from tests.clusterctl.move.management_clusters import simple_crd
from tests.sdk.paper_cloud import (
    CLUSTER,
    GROUP,
    MACHINE,
    PAPER_CLUSTERS,
    PaperCloud,
    PaperLand,
    PaperMachine,
)

IDENTITIES = Resource(GROUP, "v1", "paperidentities", "PaperIdentity", namespaced=False)
MACHINES = PaperMachine.RESOURCE
FINALIZER = "paper.example.dev/check"
HELD = "paper.example.dev/credentials"


class Account:
    """A session at the paper cloud."""

    def __init__(self, credential: Credential) -> None:
        self.token = credential.data["token"].decode()
        self.closed = False


async def sign_out(account: Account) -> None:
    account.closed = True


class Land(PaperLand):
    """Notes with which token each cluster was last made, and taken down."""

    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Account] = []
        self.accounts = Sessions(self.sign_in, sign_out)
        self.tokens: dict[str, str] = {}
        self.released: dict[str, str] = {}

    async def sign_in(self, credential: Credential) -> Account:
        self.opened.append(Account(credential))
        return self.opened[-1]

    async def reconcile_normal(
        self, context: ClusterContext[Document]
    ) -> ClusterProvisioned | Waiting:
        assert context.credential is not None
        self.tokens[str(context.key)] = (await self.accounts.of(context.credential)).token
        return await super().reconcile_normal(context)

    async def reconcile_delete(self, context: ClusterContext[Document]) -> Released | Waiting:
        assert context.credential is not None
        self.released[str(context.key)] = (await self.accounts.of(context.credential)).token
        return Released()


class Cloud(PaperCloud):
    def __init__(self) -> None:
        super().__init__()
        self.tokens: dict[str, str] = {}

    async def reconcile_normal(
        self, context: MachineContext[PaperMachine]
    ) -> Provisioned | Waiting:
        assert context.credential is not None
        self.tokens[context.key.name] = context.credential.data["token"].decode()
        return await super().reconcile_normal(context)


@dataclass
class Setup:
    bench: ProviderBench
    land: Land
    cloud: Cloud

    async def secret(self, name: str, token: str, namespace: str = "default") -> None:
        data = {"token": b64encode(token.encode()).decode()}
        metadata = {"name": name, "namespace": namespace}
        document = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        await self.bench.client.create(SECRETS, document)

    async def rotate(self, name: str, token: str, namespace: str = "default") -> None:
        data = {"token": b64encode(token.encode()).decode()}
        await self.bench.client.patch(SECRETS, Key(namespace, name), {"data": data})

    async def identity(self, name: str, secret: str, **allowed: object) -> None:
        reference = {"name": secret, "namespace": "vault"}
        await self.bench.client.create(
            IDENTITIES,
            {
                "apiVersion": IDENTITIES.api_version,
                "kind": IDENTITIES.kind,
                "metadata": {"name": name},
                "spec": {"secretRef": reference, "allowedNamespaces": allowed},
            },
        )

    async def cluster(self, name: str, kind: str, identity: str) -> None:
        infra = {**CLUSTER, "metadata": {"name": name}}
        infra["spec"] = {"identityRef": {"kind": kind, "name": identity}}
        await self.bench.cluster(name, infra, provisioned=True)

    async def told(self, resource: Resource, name: str, type_: str) -> str:
        document = await self.bench.get(resource, name)
        assert document is not None
        conditions = {item["type"]: item for item in document["status"]["conditions"]}
        condition = conditions[type_]
        return f"{condition['status']} {condition['reason']}: {condition['message']}"

    async def held(self, resource: Resource, name: Key) -> tuple[list[str], list[str]]:
        """The finalizers of a Secret or an identity, and the names of its owners."""
        metadata = (await self.bench.client.get(resource, name))["metadata"]
        owners = metadata.get("ownerReferences", [])
        return metadata.get("finalizers", []), sorted(owner["name"] for owner in owners)


@asynccontextmanager
async def playing() -> AsyncIterator[Setup]:
    async with provider_bench([PAPER_CLUSTERS, MACHINES, IDENTITIES]) as bench:
        for name in ("vault", "other"):
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            await bench.client.create(NAMESPACES, space)
        tenants = TenantCredentials(
            bench.runtime, PAPER_CLUSTERS, identity=IDENTITIES, finalizer=HELD
        )
        setup = Setup(bench, Land(), Cloud())
        add_infra_cluster(
            bench.runtime, PAPER_CLUSTERS, setup.land, finalizer=FINALIZER, credentials=tenants
        )
        add_infra_machine(
            bench.runtime, PaperMachine, setup.cloud, finalizer=FINALIZER, credentials=tenants
        )
        async with bench.running():
            yield setup


async def test_two_tenants_never_share_an_account() -> None:
    async with playing() as setup:
        await setup.secret("red", "token-red")
        await setup.secret("shared", "token-shared", "vault")
        await setup.identity("shared", "shared", list=["default"])
        await setup.cluster("red", "Secret", "red")
        await setup.cluster("blue", "PaperIdentity", "shared")
        for name in ("red", "blue"):
            await setup.bench.machine(name, f"{name}-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(1)
        tokens = {"default/red": "token-red", "default/blue": "token-shared"}
        assert setup.land.tokens == tokens
        assert setup.cloud.tokens == {"red-0": "token-red", "blue-0": "token-shared"}
        message = await setup.told(PAPER_CLUSTERS, "red", "CredentialsAvailable")
        assert message == "True CredentialsAvailable: "


async def test_a_secret_in_use_is_held_owned_and_labelled_for_moves_until_it_is_not() -> None:
    async with playing() as setup:
        await setup.secret("red", "token-red")
        for name in ("red", "rose"):
            await setup.cluster(name, "Secret", "red")
        await asyncio.sleep(1)
        assert await setup.held(SECRETS, key("red")) == ([HELD], ["red", "rose"])
        secret = await setup.bench.client.get(SECRETS, key("red"))
        assert secret["metadata"]["labels"] == {"clusterctl.cluster.x-k8s.io/move": ""}
        await setup.bench.client.delete(PAPER_CLUSTERS, key("red"))
        await setup.bench.until_gone(PAPER_CLUSTERS, "red", within=5)
        assert await setup.held(SECRETS, key("red")) == ([HELD], ["rose"])
        await setup.bench.client.delete(PAPER_CLUSTERS, key("rose"))
        await setup.bench.until_gone(PAPER_CLUSTERS, "rose", within=5)
        assert await setup.held(SECRETS, key("red")) == ([], [])
        assert setup.land.released == {"default/red": "token-red", "default/rose": "token-red"}


async def test_a_cluster_that_changes_its_account_releases_the_old_one() -> None:
    async with playing() as setup:
        for name in ("old", "new"):
            await setup.secret(name, f"token-{name}")
        await setup.cluster("red", "Secret", "old")
        await setup.bench.machine("red", "red-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(20)
        change: Document = {"spec": {"identityRef": {"name": "new"}}}
        await setup.bench.client.patch(PAPER_CLUSTERS, key("red"), change)
        await asyncio.sleep(1)
        assert setup.land.tokens == {"default/red": "token-new"}
        assert setup.cloud.tokens == {"red-0": "token-new"}
        assert await setup.held(SECRETS, key("old")) == ([], [])
        assert await setup.held(SECRETS, key("new")) == ([HELD], ["red"])


async def test_a_rotated_secret_enqueues_its_users_and_ends_the_old_session() -> None:
    async with playing() as setup:
        await setup.secret("red", "token-1")
        await setup.secret("shared", "token-2", "vault")
        await setup.identity("shared", "shared", list=["default"])
        await setup.cluster("red", "Secret", "red")
        await setup.cluster("blue", "PaperIdentity", "shared")
        await setup.bench.machine("red", "red-0", MACHINE, bootstrap_data=b"x")
        await asyncio.sleep(20)
        await setup.rotate("red", "token-3")
        await setup.rotate("shared", "token-4", "vault")
        await asyncio.sleep(1)
        assert setup.land.tokens == {"default/red": "token-3", "default/blue": "token-4"}
        assert setup.cloud.tokens == {"red-0": "token-3"}
        assert [account.closed for account in setup.land.opened] == [True, True, False, False]


async def test_a_namespace_without_its_permission_is_refused_and_keeps_its_machines() -> None:
    async with playing() as setup:
        await setup.secret("shared", "token", "vault")
        gold = {"matchLabels": {"tier": "gold"}}
        await setup.identity("shared", "shared", selector=gold)
        label: Document = {"metadata": {"labels": {"tier": "gold"}}}
        await setup.bench.client.patch(NAMESPACES, Key("", "default"), label)
        await setup.cluster("blue", "PaperIdentity", "shared")
        await asyncio.sleep(1)
        assert await setup.held(IDENTITIES, Key("", "shared")) == ([HELD], [])
        assert await setup.held(SECRETS, Key("vault", "shared")) == ([HELD], ["shared"])
        label["metadata"]["labels"]["tier"] = None
        await setup.bench.client.patch(NAMESPACES, Key("", "default"), label)
        await asyncio.sleep(1)
        why = "PaperIdentity shared may not be used in namespace default: its "
        why += "spec.allowedNamespaces neither lists nor selects it"
        message = await setup.told(PAPER_CLUSTERS, "blue", "CredentialsAvailable")
        assert message == f"False NamespaceNotAllowed: {why}"
        assert (await setup.told(PAPER_CLUSTERS, "blue", "Ready")).startswith("False NotReady")
        await setup.bench.client.delete(PAPER_CLUSTERS, key("blue"))
        await asyncio.sleep(60)
        infra = await setup.bench.get(PAPER_CLUSTERS, "blue")
        assert infra is not None
        assert infra["status"]["initialization"]["provisioned"] is True
        allowed: Document = {"spec": {"allowedNamespaces": {"list": ["default"]}}}
        await setup.bench.client.patch(IDENTITIES, Key("", "shared"), allowed)
        await setup.bench.until_gone(PAPER_CLUSTERS, "blue", within=1)
        await asyncio.sleep(1)
        assert setup.land.released == {"default/blue": "token"}
        assert await setup.held(IDENTITIES, Key("", "shared")) == ([], [])
        assert await setup.held(SECRETS, Key("vault", "shared")) == ([], [])


async def test_secrets_and_identities_are_moved_with_their_clusters() -> None:
    crds = [simple_crd(Cluster.RESOURCE), simple_crd(PAPER_CLUSTERS)]
    kinds = kinds_of([*crds, simple_crd(IDENTITIES, MOVE_HIERARCHY)])
    async with playing() as setup:
        await setup.secret("red", "token-red")
        await setup.secret("unused", "token")
        await setup.secret("shared", "token-shared", "vault")
        await setup.identity("shared", "shared", list=["default"])
        await setup.cluster("red", "Secret", "red")
        await setup.cluster("blue", "PaperIdentity", "shared")
        await asyncio.sleep(1)
        graph = Graph(kinds)
        for kind in kinds.values():
            for document in (await setup.bench.client.list(kind.resource)).items:
                graph.add(document)
    graph.complete()
    ways = {
        obj.ref.name: obj.way for obj in plan_move(graph).objects.values() if not is_cluster(obj)
    }
    assert ways == {"red": Treatment.MOVED, "shared": Treatment.SHARED}
    shared = [planned_move.ref.kind for planned_move in plan_move(graph).of(Treatment.SHARED)]
    assert sorted(shared) == ["PaperIdentity", "Secret"]


def is_cluster(planned_move: PlannedMove) -> bool:
    return planned_move.ref.kind.endswith("Cluster")


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("Secret", "none", "False SecretNotFound: Secret default/none is not there"),
        ("PaperIdentity", "none", "False IdentityNotFound: PaperIdentity none is not there"),
        (
            "Password",
            "none",
            "False IdentityNotFound: spec.identityRef.kind is Password; known are Secret and "
            "PaperIdentity",
        ),
    ],
)
async def test_without_credentials_nothing_is_created_or_held(
    kind: str, name: str, said: str
) -> None:
    async with playing() as setup:
        await setup.cluster("red", kind, name)
        await asyncio.sleep(1)
        assert await setup.told(PAPER_CLUSTERS, "red", "CredentialsAvailable") == said
        assert not setup.land.clusters
        if kind == "Secret":
            await setup.secret(name, "token")
            await asyncio.sleep(11)
            assert setup.land.tokens == {"default/red": "token"}
            return
        await setup.bench.client.delete(PAPER_CLUSTERS, key("red"))
        await setup.bench.until_gone(PAPER_CLUSTERS, "red", within=1)


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({}, False),
        ({"allowedNamespaces": None}, False),
        ({"allowedNamespaces": {}}, True),
        ({"allowedNamespaces": {"selector": {}, "list": []}}, True),
        ({"allowedNamespaces": {"list": ["team-a"]}}, True),
        ({"allowedNamespaces": {"list": ["team-b"]}}, False),
        ({"allowedNamespaces": {"list": ["team-b"], "selector": {}}}, False),
        ({"allowedNamespaces": {"selector": {"matchLabels": {"tier": "gold"}}}}, True),
        ({"allowedNamespaces": {"selector": {"matchLabels": {"tier": "lead"}}}}, False),
        (
            {
                "allowedNamespaces": {
                    "list": ["team-b"],
                    "selector": {"matchLabels": {"tier": "gold"}},
                }
            },
            True,
        ),
    ],
)
def test_an_identity_allows_namespaces(spec: Document, *, allowed: bool) -> None:
    assert is_allowed({"spec": spec}, "team-a", {"tier": "gold"}) is allowed


async def test_concurrent_users_share_one_login() -> None:
    entries: list[str] = []

    async def slowly(credential: Credential) -> str:
        entries.append(credential.identity)
        await asyncio.sleep(1)
        return credential.identity

    sessions = Sessions(slowly)
    tenants = [Credential(identity=name, version="1", data={}) for name in "abab"]
    assert await asyncio.gather(*map(sessions.of, tenants)) == list("abab")
    assert sorted(entries) == ["a", "b"]


def test_a_credential_does_not_show_its_content() -> None:
    credential = Credential(identity="Secret a/b", version="1", data={"token": b"hunter2"})
    assert "hunter2" not in repr(credential)
    assert "hunter2" not in repr(replace(credential, version="2"))
