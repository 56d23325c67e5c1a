"""The how-to for authors does what it says, and the reference is the one that is printed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from kapy.hooks import BEFORE_CLUSTER_UPGRADE, GENERATE_PATCHES, BeforeClusterUpgradeRequest
from kapy.hooks.catalog import own_catalog
from kapy.hooks.openapi.pages import pages
from kapy.testing.extension import ask, check_idempotent, sample_request

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def module() -> dict[str, Any]:
    text = (DOCS / "how-to" / "write-an-extension.md").read_text()
    document: dict[str, Any] = {"__name__": "freeze"}
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "write-an-extension.md", "exec", dont_inherit=True), document)
    return document


async def test_the_test_of_the_how_to_passes(module: dict[str, Any]) -> None:
    await module["test_a_frozen_cluster_waits"]()


async def test_the_answers_of_the_guide_are_right(module: dict[str, Any]) -> None:
    request = BeforeClusterUpgradeRequest(
        cluster={"metadata": {}},
        from_kubernetes_version="v1.33.0",
        to_kubernetes_version="v1.34.0",
        settings={"forbidden": "v1.34.0"},
    )
    refused = await ask(module["extension"], BEFORE_CLUSTER_UPGRADE, request, "freeze-window")
    assert (refused.status, refused.message) == ("Failure", "v1.34.0 is not approved")
    request.settings = {}
    agreed = await ask(module["extension"], BEFORE_CLUSTER_UPGRADE, request, "freeze-window")
    assert (agreed.status, agreed.retry_after_seconds) == ("Success", 0)


async def test_the_patches_of_the_guide_are_valid(module: dict[str, Any]) -> None:
    request = sample_request(GENERATE_PATCHES)
    assert request.items
    request.items[0].object = {
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
        "kind": "DevMachineTemplate",
    }
    answer = await ask(module["extension"], GENERATE_PATCHES, request, "sizes")
    sized = b'{"spec":{"template":{"spec":{"size":"small"}}}}'
    assert [response_item.patch for response_item in answer.items] == [sized]
    await check_idempotent(module["extension"], request, "sizes")


@pytest.mark.parametrize("name", ["hooks.md", "runtime-sdk-openapi.yaml"])
def test_the_reference_is_the_one_that_is_printed(name: str) -> None:
    assert (DOCS / "reference" / name).read_text() == pages(own_catalog())[name]
