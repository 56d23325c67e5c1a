"""Boot data for machines in containers, carried out as upstream's docker provider does it.

`containers.jsonl.gz` has the commands that upstream made of boot data.
"""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any, Final

import pytest

from kapy.kube.boot import Step, WriteFile, for_containers, read_boot_data
from kapy.kube.yaml import load_all
from tests.oracle.topic import records

_DATA: Final = Path(__file__).parents[2] / "data" / "boot_data"
_CASES: Final = list(records(_DATA / "containers.jsonl.gz"))


def _upstreams_steps(commands: list[Any]) -> list[Any]:
    """Upstream's commands with those that make one file put together."""
    steps: list[Any] = []
    for command in commands:
        argv = command["argv"]
        if argv[:2] == ["/bin/sh", "-c"] and argv[2].startswith("cat >"):
            redirect, _, path = argv[2].removeprefix("cat ").partition(" ")
            path = path.removesuffix(" /dev/stdin").strip()
            file = {"path": path, "content": command["stdin"], "mode": "0644", "owner": "root:root"}
            steps.append({**file, "append": redirect == ">>"})
        elif argv[0] == "chmod":
            steps[-1]["mode"] = argv[1]
        elif argv[0] == "chown":
            steps[-1]["owner"] = argv[1]
        elif argv[0] != "mkdir" and argv != ["systemctl", "daemon-reload"]:
            steps.append(argv)
    return steps


def _step(step: Step) -> Any:
    if not isinstance(step, WriteFile):
        return list(step.argv)
    return {
        "path": step.path,
        "content": step.content.decode("utf-8", "replace"),
        "mode": f"{step.mode:04o}",
        "owner": step.owner,
        "append": step.append,
    }


def _comparable(step: Any, data_format: str) -> Any:
    """The step without what upstream leaves out or writes otherwise, and means the same."""
    if isinstance(step, list):
        return step
    content = step["content"]
    if "kubeadm" in step["path"] and step["path"].endswith((".yaml", ".yml")):
        content = [_configuration(document) for document in load_all(content)]
    elif step["path"].startswith("/etc/systemd/"):
        content = content.strip()  # as upstream writes it
    # Upstream does not set owners of Ignition's files.
    owner = "" if data_format == "ignition" else step["owner"]
    path = posixpath.join("/", step["path"])  # commands run in the root folder
    mode = int(step["mode"], 8)
    return {**step, "path": path, "content": content, "owner": owner, "mode": mode}


def _configuration(document: Any) -> Any:
    registration = document.get("nodeRegistration", {})
    registration_fields = {name: value for name, value in registration.items() if value is not None}
    return {**document, "nodeRegistration": registration_fields}


@pytest.mark.parametrize("data_format", ["cloud-config", "ignition"])
def test_the_steps_equal_those_of_upstream(data_format: str) -> None:
    cases = [case for case in _CASES if case["format"] == data_format]
    assert len(cases) >= 10
    for case in cases:
        plan = read_boot_data(case["data"].encode(), data_format)
        changed = for_containers(plan, private_cgroups=case["privateCgroups"])
        actual = [_comparable(_step(step), data_format) for step in changed.steps]
        steps = _upstreams_steps(case["commands"])
        recorded = [_comparable(step, data_format) for step in steps]
        if data_format == "ignition":  # upstream starts each unit before it writes the next
            actual, recorded = sorted(actual, key=repr), sorted(recorded, key=repr)
        assert [step for step in actual if "daemon-reload" not in step] == recorded
