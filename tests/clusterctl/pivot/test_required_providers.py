"""Tests of the providers that a pivot installs, and of the inventories that it refuses."""

from __future__ import annotations

import pytest

from kapy.clusterctl.errors import MoveError
from kapy.clusterctl.inventory import Installed
from kapy.clusterctl.pivot.required_providers import required_providers
from kapy.clusterctl.provider import ProviderType

CORE = Installed("cluster-api", ProviderType.CORE, "v1.14.0", "capi-system", built_in=True)
KUBEADM = Installed("kubeadm", ProviderType.BOOTSTRAP, "v1.14.0", "b-system", built_in=True)
DOCKER = Installed("docker", ProviderType.INFRASTRUCTURE, "v1.14.0", "capd-system", built_in=True)
METAL = Installed("metal3", ProviderType.INFRASTRUCTURE, "v1.12.0", "metal")
ALL = [CORE, KUBEADM, DOCKER, METAL]


def installed(of: Installed, version: str) -> Installed:
    return Installed(of.name, of.type, version, of.namespace)


def test_built_in_providers_in_use_are_installed() -> None:
    providers = required_providers(ALL, [], {KUBEADM.label})
    assert (providers.missing, providers.unused) == ((CORE, KUBEADM, METAL), (DOCKER,))
    assert providers.requested.names == {
        ProviderType.CORE: ["cluster-api:v1.14.0"],
        ProviderType.BOOTSTRAP: ["-", "kubeadm:v1.14.0"],
        ProviderType.CONTROL_PLANE: ["-"],
        ProviderType.INFRASTRUCTURE: ["metal3:v1.12.0"],
    }


def test_a_chosen_namespace_is_kept() -> None:
    providers = required_providers(ALL, [], {}).requested
    assert providers.namespace_of("metal3", ProviderType.INFRASTRUCTURE) == "metal"
    assert providers.namespace_of("cluster-api", ProviderType.CORE) == ""


def test_installed_newer_providers_stay() -> None:
    there = [installed(CORE, "v1.14.0"), installed(METAL, "v1.13.0")]
    providers = required_providers(ALL, there, {DOCKER.label})
    assert (providers.missing, providers.there) == ((DOCKER,), tuple(there))
    assert providers.labels == {"cluster-api", "infrastructure-docker", "infrastructure-metal3"}


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("v1.11.9", r"infrastructure-metal3 is v1\.12\.0 here and v1\.11\.9 in the cluster"),
        ("newest", r'Provider object metal/infrastructure-metal3 has the version "newest"'),
    ],
)
def test_an_older_version_in_the_cluster_is_refused(version: str, sentence: str) -> None:
    with pytest.raises(MoveError, match=sentence):
        required_providers(ALL, [installed(METAL, version)], {})
