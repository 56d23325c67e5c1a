"""Whether the Machines of a MachineDeployment are still busy with a version."""

from __future__ import annotations

import pytest

from kapy.core.topology.current_state import is_deployment_upgrading
from kapy.core.topology.errors import CannotReconcile
from kapy.kube import Document

NEW, OLD = "v1.35.0", "v1.34.0"


def deployment(version: str = NEW) -> Document:
    template = {"spec": {"version": version} if version else {}}
    selector = {"matchLabels": {"pool": "a"}}
    return {"metadata": {"name": "md"}, "spec": {"selector": selector, "template": template}}


def machine(version: str = NEW, runs: str = "", pool: str = "a") -> Document:
    status = {"nodeInfo": {"kubeletVersion": runs}} if runs else {}
    spec = {"version": version} if version else {}
    return {"metadata": {"name": "m", "labels": {"pool": pool}}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("of", "machines", "upgrading"),
    [
        (deployment(), [], False),
        (deployment(), [machine(runs=NEW)], False),
        (deployment(), [machine(runs=NEW), machine(OLD, runs=OLD)], True),
        (deployment(), [machine(runs=OLD)], True),  # changed in place: its kubelet follows
        (deployment(), [machine()], False),  # no Node yet
        (deployment(), [machine(OLD, runs=OLD, pool="b")], False),
        (deployment(""), [machine(OLD)], False),
    ],
)
def test_a_machine_is_upgraded_when_its_kubelet_is(
    of: Document, machines: list[Document], *, upgrading: bool
) -> None:
    assert is_deployment_upgrading(of, machines) is upgrading


def test_a_machine_without_a_version_is_an_error() -> None:
    with pytest.raises(CannotReconcile, match="Machine m has no version"):
        is_deployment_upgrading(deployment(), [machine("")])
