"""Hooks change by rules: a catalog that breaks one is told so in a sentence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest
from msgspec.structs import replace as changed

from kapy import CLUSTER_API
from kapy.hooks import BEFORE_CLUSTER_CREATE, BEFORE_CLUSTER_UPGRADE, RetryResponse
from kapy.hooks.catalog import Catalog, own_catalog
from kapy.hooks.conversions import sample
from kapy.hooks.evolution import read_snapshot, snapshot, violations
from kapy.hooks.hook import AnyHook, Conversion, Deprecation, Hook
from kapy.hooks.openapi.document import openapi
from kapy.kube import Document
from tests.hooks.upstream_hooks import upstream_catalog, without_more

NEXT: Final = "v1.15.0"
HOW_TO: Final = Path(__file__).parents[2] / "docs" / "how-to" / "add-a-hook-version.md"


def test_released_hooks_stay_compatible() -> None:
    assert violations(own_catalog(), read_snapshot("v1.14.0"), release=NEXT) == []


def test_the_snapshot_of_this_release_matches_its_hooks() -> None:
    document = snapshot(upstream_catalog(), CLUSTER_API)
    document["schemas"] = without_more(document["schemas"])
    assert document == read_snapshot(CLUSTER_API)


def before(edit: Any) -> Document:
    """The snapshot of a release that had something more, or something else."""
    document = read_snapshot("v1.14.0")
    edit(document["schemas"])
    return document


def field(schemas: Document, component: str, name: str) -> Document:
    document: Document = schemas[f"sigs.k8s.io.cluster-api.api.{component}"]["properties"][name]
    return document


RETRY = "runtime.hooks.v1alpha1.BeforeClusterCreateResponse"
REQUEST = "runtime.hooks.v1alpha1.BeforeClusterUpgradeRequest"


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        pytest.param(
            lambda all_: all_[f"sigs.k8s.io.cluster-api.api.{RETRY}"]["properties"].update(
                ticket={"type": "string"}
            ),
            "BeforeClusterCreateResponse.ticket was removed",
            id="a field is gone",
        ),
        pytest.param(
            lambda all_: field(all_, RETRY, "retryAfterSeconds").update(type="string"),
            "BeforeClusterCreateResponse.retryAfterSeconds was",
            id="a field is another type",
        ),
        pytest.param(
            lambda all_: field(all_, "core.v1beta2.Topology", "version").update(type="integer"),
            "Topology.version was",
            id="a field deep inside the Cluster is another type",
        ),
        pytest.param(
            lambda all_: all_[f"sigs.k8s.io.cluster-api.api.{RETRY}"]["required"].remove("status"),
            "BeforeClusterCreateResponse.status is required and was not",
            id="answers that were good are good no more",
        ),
        pytest.param(
            lambda all_: all_[f"sigs.k8s.io.cluster-api.api.{REQUEST}"]["required"].append(
                "workersUpgrades"
            ),
            "BeforeClusterUpgradeRequest.workersUpgrades was always there and need not be",
            id="what extensions read is not there for sure",
        ),
    ],
)
def test_a_released_version_does_not_change(edit: Any, sentence: str) -> None:
    results = violations(own_catalog(), before(edit), release=NEXT)
    assert any(sentence in text for text in results), results
    assert all("a new version of the hook can change that" in text for text in results)


def test_a_field_that_is_new_and_optional_breaks_nothing() -> None:
    def edit(schemas: Document) -> None:
        del schemas[f"sigs.k8s.io.cluster-api.api.{REQUEST}"]["properties"]["workersUpgrades"]

    assert violations(own_catalog(), before(edit), release=NEXT) == []


def without(name: str) -> Catalog:
    return Catalog(hook for hook in own_catalog() if hook.name != name)


def test_a_hook_is_removed_only_after_its_deprecation_period() -> None:
    document = read_snapshot("v1.14.0")
    promised = next(hook for hook in document["hooks"] if hook["hook"] == "BeforeClusterCreate")
    assert "was removed" in violations(without("BeforeClusterCreate"), document, release=NEXT)[0]
    promised["lastRelease"] = "v1.15"
    assert "was removed" in violations(without("BeforeClusterCreate"), document, release=NEXT)[0]
    assert violations(without("BeforeClusterCreate"), document, release="v1.16.0") == []


def version(name: str, **more: Any) -> AnyHook:
    hook = BEFORE_CLUSTER_CREATE
    return Hook(hook.name, hook.request, hook.response, "", "", version=name, **more)


def as_it_is(older: AnyHook, **other: Any) -> Conversion[Any, Any]:
    """A conversion that changes nothing, but for `other`."""
    same = dict.fromkeys(
        ("request_down", "request_up", "response_up", "response_down"), lambda message: message
    )
    return Conversion(older=older, **{**same, **other})


def loses_message(response: RetryResponse) -> RetryResponse:
    return changed(response, message="")


def breaks(_: object) -> object:
    raise KeyError("cluster")


@pytest.mark.parametrize(
    ("newer", "sentence"),
    [
        ({}, "BeforeClusterCreate of v1alpha2 has no conversion to the version before it"),
        ({"response_up": loses_message}, "a response of the older version loses message"),
        ({"request_up": breaks}, "a conversion raised KeyError: 'cluster'"),
    ],
)
def test_versions_convert_into_each_other(newer: dict[str, Any], sentence: str) -> None:
    catalog = own_catalog()
    conversion = as_it_is(BEFORE_CLUSTER_CREATE, **newer) if newer else None
    catalog.add(version("v1alpha2", conversion=conversion))
    (text,) = violations(catalog, read_snapshot("v1.14.0"), release=NEXT)
    assert text.endswith(sentence.partition(" of v1alpha2")[2] or sentence)


@pytest.mark.parametrize(
    ("deprecated", "replacement", "supported", "sentence"),
    [
        ("v1alpha1", "v1alpha2", ("v1.15", "2027-04-01", "v1.15", "2027-04-01"), ""),
        ("v1beta1", "v1alpha2", ("v1.15", "2027-04-01", "v1.18", "2028-06-01"), "less stable"),
        ("v1beta1", "v1beta2", ("v1.15", "2027-04-01", "v1.17", "2027-10-01"), ""),
        (
            "v1beta1",
            "v1beta2",
            ("v1.15", "2027-04-01", "v1.17", "2027-09-30"),
            "for 5 months",
        ),
        ("v1beta1", "v1", ("v1.15", "2027-04-01", "v1.16", "2028-04-01"), "for 12 months and 1"),
        ("v1", "v2", ("v1.15", "2027-04-01", "v1.17", "2029-04-01"), "for 24 months and 2"),
        ("v1", "v2", ("v1.15", "2027-04-01", "v1.18", "2028-04-01"), ""),
        ("v1", "v9", ("v1.15", "2027-04-01", "v1.18", "2028-04-01"), "for v9, which is not there"),
    ],
)
def test_deprecations_follow_the_policy(
    deprecated: str, replacement: str, supported: tuple[str, str, str, str], sentence: str
) -> None:
    old = version(deprecated, deprecation=Deprecation(replacement, *supported))
    catalog = Catalog([old])
    if replacement != "v9":
        catalog.add(version(replacement, conversion=as_it_is(old)))
    results = [
        violation
        for violation in violations(catalog, {"hooks": [], "schemas": {}}, release=NEXT)
        if "conversion" not in violation
    ]
    assert len(results) == bool(sentence)
    assert all(sentence in text for text in results), results


def test_a_new_version_is_one_module_as_the_how_to_says() -> None:
    module: dict[str, Any] = {"__name__": "how_to"}
    text = HOW_TO.read_text().partition("## Hooks of your own")[0]
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(code, HOW_TO.name, "exec", dont_inherit=True), module)
    newest: AnyHook = module["BEFORE_CLUSTER_UPGRADE_V2"]
    catalog = own_catalog()
    catalog.add(newest)

    assert violations(catalog, read_snapshot("v1.14.0"), release=NEXT) == []
    assert catalog.newest(BEFORE_CLUSTER_UPGRADE) is newest
    document = openapi(catalog, NEXT)
    assert newest.path("{name}") in document["paths"]
    component = "sigs.k8s.io.cluster-api.api.runtime.hooks.v1alpha2.BeforeClusterUpgradeRequest"
    assert "requestedBy" in document["components"]["schemas"][component]["properties"]

    request = catalog.request_for(BEFORE_CLUSTER_UPGRADE, sample(newest.request), newest)
    assert type(request) is BEFORE_CLUSTER_UPGRADE.request
    response: Any = catalog.response_of(
        BEFORE_CLUSTER_UPGRADE, RetryResponse.wait(60, "change freeze"), newest
    )
    assert type(response) is newest.response
    assert (response.message, response.retry_after_seconds) == ("change freeze", 60)
