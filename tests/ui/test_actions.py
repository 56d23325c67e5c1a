"""Actions need a session that asks for them, the rights, and a look at their plan."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Sequence

import pytest

from kapy._aio.clock import loop_clock, system_clock
from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.apps.all_in_one import ManagementPlane, management_plane
from kapy.apps.manifests import apply_manifests, class_sample
from kapy.apps.settings import Pages, Settings
from kapy.cli.planning import MOST_OBJECTS, PagePlanner
from kapy.client.client import Client
from kapy.kube import Document, Key
from kapy.kube.http import ADMIN, User
from kapy.kube.meta import to_document
from kapy.kube.names import Resource
from kapy.kube.yaml import dump_all
from kapy.testing import on_virtual_time
from kapy.ui.documents import worker_groups
from tests.ui.visitor import Answer, Visitor, visiting

CAPYBARA = Key("default", "capybara")
PAGE = "/actions/default/capybara"
DEFER = "topology.cluster.x-k8s.io/defer-upgrade"
PRE_DRAIN = "pre-drain.delete.hook.machine.cluster.x-k8s.io/wait"
HOLD = "before-upgrade.hook.cluster.cluster.x-k8s.io/window"
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False
)


class _Planner:
    """Remembers what it was asked to plan."""

    def __init__(self) -> None:
        self.asked: list[tuple[str | Sequence[Document], bool]] = []

    async def __call__(
        self, client: Client, objects: str | Sequence[Document], namespace: str, *, deletes: bool
    ) -> tuple[Document, str]:
        self.asked.append((objects, deletes))
        names = ("create", "change", "delete", "machinesCreated", "machinesReplaced")
        summary = dict.fromkeys((*names, "machinesDeleted"), 0)
        empty: Document = {"changes": [], "rollouts": []}
        return {"stages": [], "underWay": empty, "problems": [], "summary": summary}, "the plan"


def _form(page: Answer) -> dict[str, str]:
    """The hidden fields of the form that does an action."""
    form = page.text.partition('method="post" action="/ui/actions/')[2].partition("</form>")[0]
    fields = re.findall(r'name="([^"]+)" value="([^"]*)"', form)
    return {name: html.unescape(value) for name, value in fields}


async def _do(visitor: Visitor, query: str) -> Answer:
    page = await visitor.get(f"{PAGE}?{query}")
    assert page.status == 200, page.text
    assert "the plan" in page.text
    return await visitor.post(PAGE, _form(page))


async def _ready(plane: ManagementPlane) -> None:
    await apply_manifests(plane.client, class_sample())
    await asyncio.sleep(120)


@on_virtual_time
async def test_each_action_shows_its_plan_and_then_does_it() -> None:
    planner, clock = _Planner(), loop_clock()
    async with management_plane(Settings(), clock=clock) as plane:
        await _ready(plane)
        async with visiting(plane.server, clock, settings=Pages(plan=planner)) as visitor:
            await visitor.log_in(allow_actions=True)
            scaled = await _do(visitor, "action=scale-workers.md-0&number=3")
            await asyncio.sleep(60)
            machines = (await plane.client.list(Machine)).items
            victim = next(
                machine for machine in machines if "md-0" in machine.metadata.name
            ).metadata.name
            deleted = await _do(visitor, f"action=delete.{victim}")
            await asyncio.sleep(60)
            await plane.client.patch(Cluster, CAPYBARA, {"metadata": {"annotations": {HOLD: ""}}})
            approved = await _do(visitor, f"action=approve.{HOLD}")
            paused = await _do(visitor, "action=pause")
            cluster = await plane.client.get(Cluster, CAPYBARA)
            names = {machine.metadata.name for machine in (await plane.client.list(Machine)).items}
            page = await visitor.get("/clusters/default/capybara")
    assert [answer.status for answer in (scaled, deleted, approved, paused)] == [303] * 4
    assert HOLD not in cluster.metadata.annotations
    assert len(machines) == 4
    assert victim not in names
    assert cluster.spec.paused
    assert "Resume…" in page.text
    (first, _), (second, deletes), *_ = planner.asked
    assert isinstance(first, list)
    workers = first[0]["spec"]["topology"]["workers"]["machineDeployments"]
    assert (first[0]["kind"], workers[0]["replicas"]) == ("Cluster", 3)
    assert (second[0]["metadata"]["name"], deletes) == (victim, True)  # type: ignore[index]


@on_virtual_time
async def test_forbidden_actions_are_neither_offered_nor_done() -> None:
    clock, viewer = loop_clock(), User("viewer", ("system:authenticated",))
    async with management_plane(Settings(), clock=clock) as plane:
        await _ready(plane)
        subject = {"kind": "User", "name": "viewer", "apiGroup": BINDINGS.group}
        role = {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": "look"}
        rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
        roles = Resource(BINDINGS.group, "v1", "clusterroles", "ClusterRole", namespaced=False)
        await plane.client.create(
            roles,
            {"apiVersion": roles.api_version, "kind": roles.kind, "metadata": {"name": "look"},
             "rules": [rule]},
        )  # fmt: skip
        await plane.client.create(
            BINDINGS,
            {"apiVersion": BINDINGS.api_version, "kind": BINDINGS.kind,
             "metadata": {"name": "look"}, "subjects": [subject], "roleRef": role},
        )  # fmt: skip
        await _hold_all(plane)
        async with visiting(plane.server, clock, settings=Pages(plan=_Planner())) as visitor:
            page = await visitor.get("/clusters/default/capybara")
            assert (await visitor.get(f"{PAGE}?action=pause")).status == 403
            await visitor.log_in(allow_actions=True)
            offered = await visitor.get("/clusters/default/capybara")
            actions = re.findall(r'name="action" value="([^"]+)"', offered.text)
            forms = [
                _form(await visitor.get(f"{PAGE}?action={action}&number=2")) for action in actions
            ]
            await visitor.log_in(viewer, allow_actions=True)
            looker = await visitor.get("/clusters/default/capybara")
            refused = [await visitor.get(f"{PAGE}?action={action}&number=2") for action in actions]
            before = await _versions(plane)
            done = [await visitor.submit(PAGE, form) for form in forms]
            after = await _versions(plane)
    kinds = {action.partition(".")[0] for action in actions}
    assert kinds == {"pause", "approve", "approve-workers", "scale-control-plane", "scale-workers",
                     "roll-out", "delete", "skip-drain"}  # fmt: skip
    assert {answer.status for answer in (*refused, *done)} == {403}
    assert looker.status == 200
    for text in (page.text, looker.text):
        assert 'name="action"' not in text
    assert before == after


@on_virtual_time
async def test_a_change_meanwhile_and_odd_values_are_refused() -> None:
    clock = loop_clock()
    async with management_plane(Settings(), clock=clock) as plane:
        await _ready(plane)
        async with visiting(plane.server, clock, settings=Pages(plan=_Planner())) as visitor:
            await visitor.log_in(allow_actions=True)
            form = _form(await visitor.get(f"{PAGE}?action=scale-workers.md-0&number=3"))
            await plane.client.patch(Cluster, CAPYBARA, {"metadata": {"labels": {"a": "b"}}})
            scaling = f"{PAGE}?action=scale-workers.md-0&number="
            statuses = {
                "changed": (await visitor.post(PAGE, form)).status,
                "replaced": (await visitor.post(PAGE, {**form, "uid": "x"})).status,
                "number": (await visitor.get(f"{scaling}1e9")).status,
                "large": (await visitor.get(f"{scaling}99999")).status,
                "unknown": (await visitor.get(f"{PAGE}?action=reboot")).status,
            }
    assert statuses == {
        "changed": 409, "replaced": 409, "number": 400, "large": 400, "unknown": 409,
    }  # fmt: skip


async def _hold_all(plane: ManagementPlane) -> None:
    """Give the cluster all that actions are for: held upgrades, and a Machine that is drained."""
    cluster = await plane.client.get(Cluster, CAPYBARA)
    (group,) = worker_groups(to_document(cluster), "machineDeployments")
    held = {**group, "metadata": {"annotations": {DEFER: ""}}}
    topology = {"workers": {"machineDeployments": [held]}}
    patch = {"metadata": {"annotations": {HOLD: ""}}, "spec": {"topology": topology}}
    await plane.client.patch(Cluster, CAPYBARA, patch)
    machines = (await plane.client.list(Machine)).items
    key = next(
        Key.of(to_document(machine)) for machine in machines if "md-0" in machine.metadata.name
    )
    await plane.client.patch(Machine, key, {"metadata": {"annotations": {PRE_DRAIN: ""}}})
    await plane.client.delete(Machine, key)
    await asyncio.sleep(10)


async def _versions(plane: ManagementPlane) -> list[str]:
    """The objects that actions change, with their versions."""
    listed = [*(await plane.client.list(Machine)).items, *(await plane.client.list(Cluster)).items]
    return [f"{document.metadata.name} {document.metadata.resource_version}" for document in listed]


@pytest.mark.sockets
async def test_a_plan_is_the_one_of_the_command() -> None:
    settings = Pages(plan=PagePlanner())
    async with (
        management_plane(Settings(), clock=system_clock) as plane,
        visiting(plane.server, system_clock, settings=settings) as visitor,
    ):
        page = await visitor.submit("/plan", {"yaml": dump_all(list(class_sample()))})
        broken = await visitor.submit("/plan", {"yaml": "a: [<script>"})
        nothing = await visitor.submit("/plan", {"yaml": " "})
        herd = dump_all([_namespace(f"n{number}") for number in range(MOST_OBJECTS + 1)])
        large = await visitor.submit("/plan", {"yaml": herd})
    assert "MachineDeployment</span> default/capybara-md-0" in page.text
    assert "2 Machines created" in page.text
    assert "Plan: " in page.text
    assert "&lt;script&gt;" in broken.text
    assert "<script>" not in broken.text
    assert nothing.status == 400
    assert f"the form holds {MOST_OBJECTS + 1} objects" in large.text


def _namespace(name: str) -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@on_virtual_time
async def test_a_link_can_bring_a_change_to_plan() -> None:
    planner, clock = _Planner(), loop_clock()
    async with (
        management_plane(Settings(), clock=clock) as plane,
        visiting(plane.server, clock, settings=Pages(plan=planner)) as visitor,
    ):
        body = b'{"draft": {"text": "kind: Cluster", "namespace": "farm"}}'
        link = await visitor.send("POST", "/links", body, user=ADMIN)
        path = re.search(r"/login\?token=[\w-]+", link.text)
        assert path is not None
        logged_in = await visitor.get(path[0])
        visitor.cookie = logged_in.headers["set-cookie"].partition(";")[0]
        await visitor.get("/plan")
    assert logged_in.headers["refresh"] == "0; url=/ui/plan"
    assert planner.asked == [("kind: Cluster", False)]


@on_virtual_time
async def test_printed_commands_name_the_kubeconfig_of_the_link() -> None:
    clock = loop_clock()
    async with (
        management_plane(Settings(), clock=clock) as plane,
        visiting(plane.server, clock, settings=Pages(plan=_Planner())) as visitor,
    ):
        await _ready(plane)
        body = b'{"allowActions": true, "kubeconfig": ["my $(farm)", "farm"]}'
        link = await visitor.send("POST", "/links", body, user=ADMIN)
        logged_in = await visitor.get(json.loads(link.text)["path"].removeprefix("/ui"))
        visitor.cookie = logged_in.headers["set-cookie"].partition(";")[0]
        page = await visitor.get("/clusters/default/capybara")
        action = await visitor.get(f"{PAGE}?action=pause")
        long = b'{"kubeconfig": ["' + b"a" * 5000 + b'", ""]}'
        refused = await visitor.send("POST", "/links", long, user=ADMIN)
    file = "--kubeconfig 'my $(farm)'"
    assert f"capybara -n default {file} --kubeconfig-context farm" in html.unescape(page.text)
    assert f"{file} --context farm" in html.unescape(action.text)
    assert refused.status == 400


@on_virtual_time
async def test_providers_are_shown_with_version_contract_and_health() -> None:
    clock = loop_clock()
    async with management_plane(Settings(inventory=True), clock=clock) as plane:
        await asyncio.sleep(5)
        async with visiting(plane.server, clock) as visitor:
            page = await visitor.get("/providers")
    row = page.text.partition("bootstrap-kubeadm</th>")[2].partition("</tr>")[0]
    assert "v1.14.0" in row
    assert "v1beta1, v1beta2" in row
    assert "runs in the plane" in row
    assert "not known" not in page.text
