"""Tests of the contents of a provider's release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import field

from kapy.apps.provider.components import components_of
from kapy.apps.provider.controllers import CannotAdd
from kapy.apps.provider.release import CannotRelease, files_of, write_release
from kapy.kube import Document
from kapy.kube.errors import KapyError
from kapy.sdk import (
    InfraClusterSpec,
    InfraClusterStatus,
    InfraMachineSpec,
    InfraMachineStatus,
    KindRules,
    Object,
    Provider,
    Resource,
    Right,
    Rulebook,
    Runtime,
    Setting,
    add_infra_cluster,
    add_infra_machine,
    resource,
    template_of,
)
from kapy.sdk.provider import BadProvider
from kapy.testing.provider import check_release
from tests.sdk.paper_cloud import PaperCloud, PaperLand

GROUP = "paper.example.com"


class SheetCluster(Object):
    """A cluster of paper."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1", "SheetCluster")

    spec: InfraClusterSpec = field(default_factory=InfraClusterSpec)
    status: InfraClusterStatus = field(default_factory=InfraClusterStatus)


class SheetMachine(Object):
    """A machine of paper."""

    RESOURCE: ClassVar[Resource] = resource(GROUP, "v1", "SheetMachine")

    spec: InfraMachineSpec = field(default_factory=InfraMachineSpec)
    status: InfraMachineStatus = field(default_factory=InfraMachineStatus)


def add_to(runtime: Runtime) -> None:
    add_infra_cluster(runtime, SheetCluster, PaperLand(), finalizer="paper.dev/cluster")
    add_infra_machine(runtime, SheetMachine, PaperCloud(), finalizer="paper.dev/machine")


KINDS = (SheetCluster, template_of(SheetCluster), SheetMachine, template_of(SheetMachine))
PAPER = Provider(
    name="paper", kinds=KINDS, add_to=add_to, image="registry.example.com/paper/provider"
)
TEMPLATE = (
    "kind: Cluster\napiVersion: cluster.x-k8s.io/v1beta2\nmetadata: {name: '${CLUSTER_NAME}'}\n"
)


def of(provider: Provider, kind: str, name: str = "") -> Document:
    """The one object of a kind."""
    objects = components_of(provider, "v0.1.0")
    [document] = [
        obj for obj in objects if obj["kind"] == kind and name in ("", obj["metadata"]["name"])
    ]
    return document


def granted(role: Document) -> dict[str, set[str]]:
    """Verbs by resource; what is granted for named objects only has ` (named)` after it."""
    return {
        (f"{item}.{group}" if group else item) + " (named)" * ("resourceNames" in rule): set(
            rule["verbs"]
        )
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for item in rule["resources"]
    }


def test_a_release_keeps_the_rules_that_files_show(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    templates.mkdir()
    (templates / "cluster-template.yaml").write_text(TEMPLATE)
    provider = replace(PAPER, files=templates, admission=Rulebook(KindRules(SheetMachine)))
    place = check_release(provider, "v0.1.2", tmp_path / "out")
    assert place == tmp_path / "out" / "infrastructure-paper" / "v0.1.2"
    first = {path.name: path.read_bytes() for path in place.iterdir()}
    write_release(provider, "v0.1.2", tmp_path / "again")
    again = tmp_path / "again" / "infrastructure-paper" / "v0.1.2"
    assert first == {path.name: path.read_bytes() for path in again.iterdir()}


def test_a_provider_may_watch_its_watched_kinds_and_write_its_own() -> None:
    rights = granted(of(PAPER, "ClusterRole", "paper-manager-role"))
    read = {"get", "list", "watch"}
    assert rights == {
        "events": {"create", "patch"},
        "secrets": read,
        "clusters.cluster.x-k8s.io": read,
        "machines.cluster.x-k8s.io": read,
        "machinepools.cluster.x-k8s.io": read,
        f"sheetclusters.{GROUP}": {*read, "patch"},
        f"sheetclusters/status.{GROUP}": {"patch"},
        f"sheetmachines.{GROUP}": {*read, "patch"},
        f"sheetmachines/status.{GROUP}": {"patch"},
        f"sheetclustertemplates.{GROUP}": {"get", "list", "patch"},
        f"sheetmachinetemplates.{GROUP}": {"get", "list", "patch"},
        "customresourcedefinitions.apiextensions.k8s.io": read,
        "customresourcedefinitions.apiextensions.k8s.io (named)": {"patch"},
        "customresourcedefinitions/status.apiextensions.k8s.io (named)": {"patch"},
        "tokenreviews.authentication.k8s.io": {"create"},
        "subjectaccessreviews.authorization.k8s.io": {"create"},
    }
    more = replace(PAPER, rights=[Right("", ("configmaps",), ("create",))])
    assert granted(of(more, "ClusterRole", "paper-manager-role"))["configmaps"] == {"create"}


def test_one_of_several_pods_leads_and_all_serve_webhooks() -> None:
    lease = {"leases.coordination.k8s.io": {"create", "get", "list", "update", "watch"}}
    own = "paper-leader-election-role"
    assert granted(of(PAPER, "Role", own)) == lease
    provider = replace(PAPER, admission=Rulebook(KindRules(SheetMachine)))
    named = {
        rule["resources"][0]: (rule["resourceNames"], rule["verbs"])
        for role in (of(provider, "Role", own), of(provider, "ClusterRole", "paper-manager-role"))
        for rule in role["rules"]
        if "resourceNames" in rule
    }
    [webhook] = [
        component for component in components_of(provider, "v0.1.0") if "webhooks" in component
    ]
    assert named["secrets"] == (["paper-webhook-service-cert"], ["get", "list", "update", "watch"])
    trusting = [webhook["metadata"]["name"]], ["patch"]
    assert named["validatingwebhookconfigurations"] == trusting
    pod = of(provider, "Deployment")["spec"]
    assert "strategy" not in pod
    assert pod["template"]["spec"]["containers"][0]["args"] == ["--leader-elect"]
    assert of(provider, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1


def test_core_may_work_with_kinds_of_a_group_of_its_own() -> None:
    role = of(PAPER, "ClusterRole", "paper-for-core")
    assert role["metadata"]["labels"]["cluster.x-k8s.io/aggregate-to-manager"] == "true"
    assert set(granted(role)) == {kind.RESOURCE.group_resource for kind in KINDS}


def test_settings_become_variables_of_the_installation() -> None:
    setting = (Setting("PAPER_URL", "Where."), Setting("PAPER_SIZE", "How large.", "a4"))
    provider = replace(PAPER, settings=setting)
    pod = of(provider, "Deployment")["spec"]["template"]["spec"]
    assert pod["containers"][0]["env"] == [
        {"name": "PAPER_URL", "value": "${PAPER_URL}"},
        {"name": "PAPER_SIZE", "value": "${PAPER_SIZE:=a4}"},
    ]
    assert "| `PAPER_URL` | (to be set) | Where. |" in files_of(provider, "v0.1.0")["README.md"]


def fails(_: Runtime) -> None:
    raise ValueError("no paper")


@pytest.mark.parametrize(
    ("make", "raised", "says"),
    [
        (lambda: files_of(PAPER, "0.1.0"), CannotRelease, "'0.1.0' is no version of a release"),
        (lambda: files_of(PAPER, "v0.2.0"), CannotRelease, "which contract v0.2 keeps to"),
        (
            lambda: files_of(replace(PAPER, series={"1": "v1beta2", "v0.1": "v1beta2"}), "v0.1.0"),
            CannotRelease,
            "'1' in `series` of the Provider is no minor version",
        ),
        (lambda: replace(PAPER, name="My Cloud"), BadProvider, "'My Cloud' is no name"),
        (lambda: replace(PAPER, image="paper"), BadProvider, "does not say of which registry"),
        (
            lambda: components_of(replace(PAPER, kinds=[SheetMachine] * 2), "v0.1.0"),
            BadProvider,
            "sheetmachines.paper.example.com is described twice",
        ),
        (
            lambda: components_of(replace(PAPER, add_to=fails), "v0.1.0"),
            CannotAdd,
            "its add_to raised ValueError: no paper",
        ),
    ],
)
def test_an_invalid_release_is_reported(
    make: Callable[[], Any], raised: type[KapyError], says: str
) -> None:
    with pytest.raises(raised, match=says):
        make()
