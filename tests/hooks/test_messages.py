"""Messages as they travel: what is written, and what of the wrong ones is said."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kapy.hooks import (
    BEFORE_CLUSTER_UPGRADE,
    DISCOVER_VARIABLES,
    GENERATE_PATCHES,
    BeforeClusterUpgradeRequest,
    DiscoverVariablesResponse,
    RetryResponse,
)
from kapy.hooks.catalog import Catalog, own_catalog
from kapy.hooks.errors import BadMessage
from kapy.hooks.hook import GROUP, Hook

VERSION = f"{GROUP}/v1alpha1"


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        (RetryResponse(), {"status": "Success", "retryAfterSeconds": 0}),
        (
            RetryResponse.wait(60, "wait"),
            {"status": "Success", "retryAfterSeconds": 60, "message": "wait"},
        ),
        (
            RetryResponse.refuse("no"),
            {"status": "Failure", "retryAfterSeconds": 0, "message": "no"},
        ),
    ],
)
def test_fields_that_go_always_writes_are_always_written(
    response: Any, expected: dict[str, Any]
) -> None:
    kind = {"apiVersion": VERSION, "kind": "BeforeClusterUpgradeResponse"}
    assert json.loads(BEFORE_CLUSTER_UPGRADE.encode_response(response)) == {**expected, **kind}


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "is not JSON"),
        (b"<html>", "is not JSON"),
        (b"\xff{}", "is not JSON"),
        (b"[]", "Expected `object`, got `array`"),
        (b'{"retryAfterSeconds": "soon"}', "$.retryAfterSeconds"),
        (b'{"kind": "DiscoveryResponse"}', 'kind is "DiscoveryResponse", but this has to be a'),
        (b'{"apiVersion": "v1"}', 'apiVersion is "v1", but this has to be a'),
    ],
)
def test_an_invalid_response_is_reported(body: bytes, sentence: str) -> None:
    with pytest.raises(BadMessage) as refused:
        BEFORE_CLUSTER_UPGRADE.decode_response(body)
    assert sentence in str(refused.value)


def test_a_field_that_is_needed_is_named() -> None:
    with pytest.raises(BadMessage, match="fromKubernetesVersion"):
        BEFORE_CLUSTER_UPGRADE.decode_request(b'{"cluster": {}}')


def test_null_is_absent_as_in_go() -> None:
    body = (
        b'{"status": "Success", "message": null, "items": [{"uid": "1", "patchType": "JSONPatch",'
    )
    response = GENERATE_PATCHES.decode_response(body + b' "patch": "W10="}], "kind": null}')
    assert (response.message, response.items[0].patch) == ("", b"[]")
    nothing = DISCOVER_VARIABLES.decode_response(b'{"status": "Success", "variables": null}')
    assert nothing == DiscoverVariablesResponse()


def test_fields_of_newer_releases_are_left_alone() -> None:
    body = b'{"status": "Success", "new": {"er": 1}}'
    assert BEFORE_CLUSTER_UPGRADE.decode_response(body) == RetryResponse()


@pytest.mark.parametrize("body", [b"{}", b'{"status": null}'])
def test_an_answer_without_a_status_is_no_success(body: bytes) -> None:
    assert BEFORE_CLUSTER_UPGRADE.decode_response(body).status == ""


def test_nulls_inside_objects_are_kept() -> None:
    body = b'{"cluster": {"spec": {"x": null}}, "fromKubernetesVersion": "a", "settings": null,'
    request = BEFORE_CLUSTER_UPGRADE.decode_request(body + b' "toKubernetesVersion": "b"}')
    assert request.cluster == {"spec": {"x": None}}


def hook(version: str) -> Hook[BeforeClusterUpgradeRequest, RetryResponse]:
    return Hook("Own", BeforeClusterUpgradeRequest, RetryResponse, "", "", version=version)


def test_a_provider_can_have_hooks_of_its_own() -> None:
    own = Hook("Own", BeforeClusterUpgradeRequest, RetryResponse, "", "", group="hooks.example.com")
    catalog = own_catalog()
    catalog.add(own)
    assert catalog.get("hooks.example.com/v1alpha1", "Own") is own
    assert own.path("Mine") == "/hooks.example.com/v1alpha1/own/mine"
    with pytest.raises(ValueError, match="already in the catalog"):
        catalog.add(own)


def test_versions_are_ordered_as_kubernetes_orders_them() -> None:
    names = ["v1", "v1beta2", "v2", "v1alpha1", "v10beta1", "v1beta10"]
    catalog = Catalog(hook(name) for name in names)
    expected = ["v1alpha1", "v1beta2", "v1beta10", "v10beta1", "v1", "v2"]
    assert [version.version for version in catalog.versions(f"Own.{GROUP}")] == expected
    assert catalog.newest(hook("v1")).version == "v2"
    with pytest.raises(ValueError, match="is no version"):
        catalog.add(hook("one"))
