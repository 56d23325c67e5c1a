"""A provider is granted what the SDK does for it, and no more."""

from __future__ import annotations

from kapy.apps.provider.rights import program_rules
from kapy.kube.names import SECRETS, SERVICES, Resource
from kapy.sdk import Runtime, add_infra_cluster, add_infra_machine
from kapy.sdk.credentials import TenantCredentials
from kapy.sdk.provider import Provider
from tests.sdk.paper_cloud import GROUP, PAPER_CLUSTERS, PaperCloud, PaperLand, PaperMachine

IDENTITIES = Resource(GROUP, "v1", "paperidentities", "PaperIdentity", namespaced=False)


def add_to(runtime: Runtime) -> None:
    tenants = TenantCredentials(
        runtime, PAPER_CLUSTERS, identity=IDENTITIES, finalizer="paper.dev/held"
    )
    add_infra_cluster(
        runtime, PAPER_CLUSTERS, PaperLand(), finalizer="paper.dev/c", credentials=tenants
    )
    add_infra_machine(runtime, PaperMachine, PaperCloud(), finalizer="paper.dev/m", owns=[SERVICES])


def test_created_kinds_and_tenant_secrets_are_granted() -> None:
    provider = Provider(
        name="paper", kinds=(PaperMachine,), add_to=add_to, image="registry.example.com/paper"
    )
    granted = {
        f"{group}/{resource}": set(rule["verbs"])
        for rule in program_rules(provider)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    }
    read = {"get", "list", "watch"}
    assert granted[f"/{SERVICES.plural}"] == read | {"create", "delete", "patch"}
    assert granted[f"/{SECRETS.plural}"] == read | {"patch"}
    assert granted[f"{GROUP}/paperidentities"] == read | {"patch"}
    assert granted["/namespaces"] == read
