"""metadata.yaml: which contract a release keeps to, and every mistake of the file."""

from __future__ import annotations

import pytest

from kapy.clusterctl.errors import MetadataError
from kapy.clusterctl.metadata import metadata_of, read_metadata
from kapy.clusterctl.repository.memory import MemoryRepository

HEAD = "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n"
SERIES = HEAD + (
    "releaseSeries:\n"
    "- {major: 0, minor: 4, contract: v1alpha4}\n"
    "- {major: 1, minor: 9, contract: v1beta1}\n"
    "- {major: 1, minor: 10, contract: v1beta1}\n"
    "- {major: 1, minor: 11, contract: v1beta2}\n"
)


def test_a_version_keeps_to_the_contract_of_its_release_series() -> None:
    metadata = metadata_of(SERIES.encode(), "infrastructure-x")
    assert metadata.series_of("v1.9.3").contract == "v1beta1"
    assert metadata.series_of("v0.4.0-rc.1").contract == "v1alpha4"
    newest = metadata.newest("v1beta1")
    assert str(newest) == "v1.10"
    assert metadata.newest("v1alpha3") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD, "releaseSeries is empty"),
        (HEAD + "releaseSeries: x", "releaseSeries is no list"),
        (HEAD + "releaseSeries: [1]", "releaseSeries[0] is no map of major, minor and contract"),
        (
            HEAD + "releaseSeries: [{major: a, minor: -1}]",
            "releaseSeries[0].major is 'a', and must be a number from 0; releaseSeries[0].minor is "
            "-1, and must be a number from 0; releaseSeries[0].contract must be an API version of "
            "Cluster API, like v1beta2",
        ),
        (
            HEAD + "releaseSeries: [{major: 1, contract: v1}, {major: 1, contract: v2}]",
            "releaseSeries[1] says that v1.0 has another contract than before",
        ),
        (
            "apiVersion: v1\nkind: Other\nreleaseSeries: [{contract: v1}]",
            'unexpected apiVersion "v1" (expected "clusterctl.cluster.x-k8s.io/v1alpha3"); '
            'unexpected kind "Other" (expected "Metadata")',
        ),
        ("- 1", "it is no object with apiVersion, kind and releaseSeries"),
        ("", "it is no object with apiVersion, kind and releaseSeries"),
    ],
)
def test_every_mistake_of_the_file_is_reported(text: str, message: str) -> None:
    with pytest.raises(MetadataError) as refused:
        metadata_of(text.encode(), "x")
    assert str(refused.value) == (
        f"invalid provider metadata: {message} (metadata.yaml of provider x)"
    )


def test_broken_yaml_is_reported_with_its_line() -> None:
    with pytest.raises(MetadataError, match=r"metadata\.yaml: line 2: "):
        metadata_of(b"a: 1\n\tb: 2\n", "x")


def test_metadata_may_have_no_kind() -> None:
    text = SERIES.replace("kind: Metadata\n", "")
    assert len(metadata_of(text.encode(), "x").series) == 4


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("v2.0.0", "does not match any release series.*v0.4, v1.9, v1.10, v1.11"),
        ("newest", "a version is a semantic version like v1.14.0"),
    ],
)
def test_a_version_without_a_release_series_is_refused(version: str, message: str) -> None:
    with pytest.raises(MetadataError, match=message):
        metadata_of(SERIES.encode(), "x").series_of(version)


async def test_a_missing_file_is_reported_with_the_provider() -> None:
    repository = MemoryRepository({"v1.0.0": {}}, components_file="c.yaml")
    with pytest.raises(MetadataError, match=r'"metadata\.yaml" from the repository for'):
        await read_metadata(repository, "x", "v1.0.0")
