"""Tests of the Node's system information in the status of a Machine."""

from __future__ import annotations

from typing import Any

import pytest

from kapy.core.machine.node import node_info
from kapy.kube import Document
from kapy.kube.model import encode

TEXTS = (
    "architecture",
    "bootID",
    "containerRuntimeVersion",
    "kernelVersion",
    "kubeProxyVersion",
    "kubeletVersion",
    "machineID",
    "operatingSystem",
    "osImage",
    "systemUUID",
)
SILENT = dict.fromkeys(TEXTS, "")
TALKATIVE = {name: f"its {name}" for name in TEXTS}


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        (TALKATIVE, TALKATIVE),
        ({**TALKATIVE, "swap": {"capacity": 1024}}, {**TALKATIVE, "swap": {"capacity": 1024}}),
        ({}, SILENT),
        (None, SILENT),
        ({"osImage": "Flatcar", "kernelVersion": 6}, {**SILENT, "osImage": "Flatcar"}),
        ({"swap": "much"}, SILENT),
    ],
)
def test_the_status_has_the_system_info_of_the_node(info: Any, expected: Document) -> None:
    assert encode(node_info({"status": {"nodeInfo": info}})) == expected
