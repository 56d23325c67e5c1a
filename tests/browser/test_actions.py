"""Each action in Chromium: its plan and its command are shown, and then either of them does it."""

from __future__ import annotations

import os
import re
import subprocess
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from kapy.api.cluster import Cluster
from kapy.api.machine import Machine
from kapy.kube import Key
from kapy.kube.names import SECRETS
from kapy.ui.sessions import ChosenKubeconfig
from tests.absent import has_kubectl
from tests.browser.conftest import log_in
from tests.browser.fleet import Fleet, managed, run_fleet, until_available
from tests.waiting import LIMIT

pytestmark = pytest.mark.sockets

HOLD: Final = "before-upgrade.hook.cluster.cluster.x-k8s.io/window"
DEFER: Final = "topology.cluster.x-k8s.io/defer-upgrade"
NEW: Final = "v1.35.0"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    """A plane without a herd."""
    with run_fleet(herd=0) as running:
        yield running


@dataclass
class Operator:
    """Somebody who changes one cluster. does: carries out what the page previews; returns False if
    the object has changed since the preview.
    """

    fleet: Fleet
    page: Page
    name: str
    does: Callable[[Page], bool]

    @property
    def key(self) -> Key:
        """The cluster."""
        return Key("default", self.name)

    def act(self, title: str, *commands: str, number: int | None = None) -> None:
        """Choose an action on the cluster's page, look at its plan and command, and do it. If the
        object has changed since the preview, the page refuses, and it is previewed again.
        """
        self._preview(title, commands, number)
        while not self.does(self.page):
            self._preview(title, commands, number)

    def _preview(self, title: str, commands: Sequence[str], number: int | None) -> None:
        self.page.goto(f"{self.fleet.url}clusters/default/{self.name}")
        self.page.get_by_text("Actions", exact=True).click()
        if number is not None:
            self.page.get_by_label(f"{title}: replicas").fill(str(number))
        self.page.get_by_role("button", name=f"{title}…").click()
        expect(self.page.get_by_role("heading", level=1)).to_contain_text(title)
        expect(self.page.get_by_label("The plan", exact=True)).to_contain_text("to change")
        for words in commands:
            expect(self.page.locator("#command")).to_contain_text(words)

    def cluster(self) -> Cluster:
        """The cluster as it is."""
        return self.fleet.do(self.fleet.plane.client.get(Cluster, self.key))

    def machines(self) -> list[Machine]:
        """Its machines that are no control plane."""
        items = self.fleet.do(self.fleet.plane.client.list(Machine, "default")).items
        return [
            machine for machine in items if machine.metadata.name.startswith(f"{self.name}-md-0")
        ]

    def until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        deadline = time.monotonic() + LIMIT
        while not holds():
            assert time.monotonic() < deadline, [
                machine.metadata.name for machine in self.machines()
            ]
            time.sleep(0.1)


def _submit(page: Page) -> bool:
    page.locator("main form button").click()
    # Either the page of the cluster, or the refusal.
    expect(page).to_have_title(re.compile(r"^(default/ox-|Error)"))
    if page.get_by_text("the object has been modified").count():
        return False
    expect(page).to_have_url(re.compile(r"/clusters/default/[^/]*$"))
    return True


def _run(command: Sequence[str] | str) -> str:
    """Run a command as a user types it: in a shell, without an environment that helps."""
    environment = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    done = subprocess.run(
        command, shell=isinstance(command, str), env=environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def _type_command(page: Page) -> bool:
    _run(page.locator("#command").inner_text())
    return True


@pytest.fixture(params=["page", "command"])
def operator(
    request: pytest.FixtureRequest, context: BrowserContext, fleet: Fleet, tmp_path: Path
) -> Operator:
    """Somebody who does actions with the page, or types the commands that it prints."""
    is_page = request.param == "page"
    if not is_page and not has_kubectl() and os.environ.get("CI") != "true":
        pytest.skip("kubectl is not on PATH")
    fleet.write_kubeconfig(tmp_path / "a fleet")
    name, page = f"ox-{request.param}", context.new_page()
    chosen = ChosenKubeconfig(str(tmp_path / "a fleet"), "fleet")
    log_in(page, fleet.link(allow_actions=True, kubeconfig=chosen))
    fleet.apply([managed(name)])
    fleet.do(until_available(fleet.plane, name))
    return Operator(fleet, page, name, _submit if is_page else _type_command)


def test_each_action_is_previewed_and_then_done(operator: Operator, tmp_path: Path) -> None:
    operator.act("Pause", "kubectl patch", '"paused":true')
    operator.until(lambda: bool(operator.cluster().spec.paused))
    operator.act("Resume", "kubectl patch", '"paused":null')
    operator.until(lambda: not operator.cluster().spec.paused)
    operator.act("Scale workers md-0", "kubectl patch", number=3)
    operator.until(lambda: len(operator.machines()) == 3)
    _roll_out(operator)
    _approve_upgrades(operator)
    if has_kubectl():
        _delete_machine_without_drain(operator, tmp_path / "workload")


def _roll_out(operator: Operator) -> None:
    before = {machine.metadata.name for machine in operator.machines()}
    deployment = next(machine.metadata.labels["cluster.x-k8s.io/deployment-name"]
                      for machine in operator.machines())  # fmt: skip
    operator.act(f"Roll out {deployment} anew", "kubectl patch machinedeployments", '"after":')

    def are_new() -> bool:
        names = {machine.metadata.name for machine in operator.machines()}
        return len(names) == 3 and not names & before

    operator.until(are_new)


def _approve_upgrades(operator: Operator) -> None:
    """Of the cluster, and then of its workers, both held by an annotation."""
    groups = [{"class": "grazer", "name": "md-0", "replicas": 3,
               "metadata": {"annotations": {DEFER: ""}}}]  # fmt: skip
    topology = {"version": NEW, "workers": {"machineDeployments": groups}}
    held = {"metadata": {"annotations": {HOLD: ""}}, "spec": {"topology": topology}}
    operator.fleet.patch(operator.name, held)
    operator.page.goto(f"{operator.fleet.url}clusters/default/{operator.name}")
    holds = operator.page.locator("section.waits")
    expect(holds).to_contain_text("upgrade held by an annotation")
    expect(holds).to_contain_text("hooks are blocking")
    assert {machine.spec.version for machine in operator.machines()} == {"v1.34.0"}
    operator.act(f"Approve the upgrade: remove {HOLD}", "kubectl patch clusters", HOLD)
    operator.page.goto(f"{operator.fleet.url}clusters/default/{operator.name}")
    expect(
        operator.page.locator("table.rollouts tr", has_text="KubeadmControlPlane")
    ).to_contain_text(NEW)
    expect(holds).to_contain_text("deferred")
    assert {machine.spec.version for machine in operator.machines()} == {"v1.34.0"}
    operator.act("Approve the upgrade of workers md-0", "kubectl patch clusters")
    operator.until(lambda: [machine.spec.version for machine in operator.machines()] == [NEW] * 3)


def _delete_machine_without_drain(operator: Operator, path: Path) -> None:
    """The drain of the machine waits for a Pod that a budget protects, until it is skipped."""
    secret = Key("default", f"{operator.name}-kubeconfig")
    path.write_bytes(_kubeconfig(operator, secret))
    workload = ["kubectl", "--kubeconfig", str(path)]
    _run([*workload, "create", "deployment", "web", "--image=web"])
    _run([*workload, "create", "pdb", "web", "--selector=app=web", "--min-available=1"])
    _run([*workload, "wait", "--for=condition=Available", "deployment/web", "--timeout=60s"])
    place = "{.items[0].spec.nodeName}"
    node = _run([*workload, "get", "pods", "-l", "app=web", "-o", f"jsonpath={place}"])
    nodes = {
        machine.status.node_ref and machine.status.node_ref.name: machine
        for machine in operator.machines()
    }
    name = nodes[node].metadata.name
    operator.act(f"Delete Machine {name}", "kubectl delete machines")
    operator.page.goto(f"{operator.fleet.url}clusters/default/{operator.name}")
    expect(operator.page.locator("section.waits")).to_contain_text("disruption budget")
    assert name in {machine.metadata.name for machine in operator.machines()}
    operator.act(f"Skip the drain of Machine {name}", "kubectl patch machines")
    operator.until(lambda: name not in {machine.metadata.name for machine in operator.machines()})


def _kubeconfig(operator: Operator, secret: Key) -> bytes:
    document = operator.fleet.do(operator.fleet.plane.client.get(SECRETS, secret))
    return b64decode(document["data"]["value"])
