"""Taint, cordon and drain, on a workload cluster of the in-memory provider."""

from __future__ import annotations

import pytest

from tests.e2e.habits import Habit, follow, no
from tests.e2e.shell import Shell

pytestmark = pytest.mark.sockets

GUARDED = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}, labels: {{app: guarded}}}}
spec:
  nodeName: {node}
  containers: [{{name: c, image: i}}]
"""
READY = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'


def test_a_drain_respects_budgets(person: Shell) -> None:
    path = person.home / "capybara.kubeconfig"
    path.write_text(person.ok("kapy", "get", "kubeconfig", "capybara"))
    at = f"--kubeconfig {path}"
    worker = "!node-role.kubernetes.io/control-plane"
    node = person.kubectl(f"{at} get nodes -l {worker} -o name").split()[0].removeprefix("node/")
    for name in ("a", "b"):
        person.kubectl(f"{at} create -f -", GUARDED.format(name=name, node=node))
        person.kubectl(f"{at} patch pod {name} --subresource status --type merge -p {READY}")
    drain = f"drain {node} --ignore-daemonsets --force --timeout"
    follow(
        person,
        Habit(f"taint node {node} cattle=yes:NoSchedule", r"tainted$"),
        Habit(f"taint node {node} cattle-", r"untainted$"),
        Habit(f"cordon {node}", r"cordoned$"),
        Habit("get nodes", rf"^{node} +Ready,SchedulingDisabled "),
        Habit(f"uncordon {node}", r"uncordoned$"),
        Habit("create pdb guard --selector app=guarded --min-available 1", r"created$"),
        Habit("get pdb guard", r"^guard +1 +N/A +1 "),
        no(f"{drain} 1s", r"violate the pod's disruption budget"),
        Habit("get pods -l app=guarded -o name", r"\Apod/\w\n\Z"),
        Habit("describe pdb guard", r"Allowed disruptions: +0$"),
        Habit("delete pdb guard", r"deleted"),
        Habit(f"{drain} 20s", r"drained$"),
        Habit(f"uncordon {node}", r"uncordoned$"),
        Habit("create token default -n kube-system", r"^ey"),
        Habit("auth can-i '*' '*'", r"^yes$"),
        Habit("top nodes", rf"^{node} +\d+m +\d+% +\d+Mi +\d+%"),
        at=at,
    )
