"""Endpoints, and the kubeconfig that a joining machine discovers the cluster with."""

from __future__ import annotations

import pytest

from kapy.api.cluster import Cluster
from kapy.api.kubeadm_discovery import FileDiscovery
from kapy.kube import Document
from kapy.kube.model import decode
from kapy.kube.yaml import load
from kapy.providers.kubeadm.bootstrap.discovery import endpoint_of, kubeconfig_file

EXEC = {
    "command": "get-token",
    "args": ["-x"],
    "env": [{"name": "A", "value": "b"}],
    "provideClusterInfo": True,
}


@pytest.mark.parametrize(
    ("endpoint", "text"),
    [
        ({"host": "10.0.0.1", "port": 6443}, "10.0.0.1:6443"),
        ({"host": "fd00::1", "port": 6443}, "[fd00::1]:6443"),
        ({"host": "api.example.org"}, ""),
        ({}, ""),
    ],
)
def test_an_endpoint_needs_both_parts(endpoint: Document, text: str) -> None:
    document = {"metadata": {"name": "c1"}, "spec": {"controlPlaneEndpoint": endpoint}}
    assert endpoint_of(decode(document, Cluster)) == text


def discovery(user: Document) -> FileDiscovery:
    config = {"cluster": {"server": "https://s", "certificateAuthorityData": "Y2E="}, "user": user}
    return decode({"kubeConfigPath": "/d/kubeconfig", "kubeConfig": config}, FileDiscovery)


def test_a_plugin_learns_the_name_of_the_machine() -> None:
    file = kubeconfig_file(discovery({"exec": EXEC}))
    assert file is not None
    assert (file["path"], file["permissions"]) == ("/d/kubeconfig", "0640")
    config = load(file["content"])
    assert config["clusters"] == [
        {
            "name": "default",
            "cluster": {"server": "https://s", "certificate-authority-data": "Y2E="},
        }
    ]
    (user,) = config["users"]
    assert user["user"]["exec"] == {
        "apiVersion": "client.authentication.k8s.io/v1",
        **EXEC,
        "interactiveMode": "Never",
    }


def test_an_auth_provider_is_written_into_the_discovery_file() -> None:
    provider = {"name": "p", "config": {"k": "v"}}
    file = kubeconfig_file(discovery({"authProvider": provider}))
    assert file is not None
    assert load(file["content"])["users"][0]["user"] == {"auth-provider": provider}


def test_a_discovery_file_of_the_user_is_not_written() -> None:
    assert kubeconfig_file(decode({"kubeConfigPath": "/d"}, FileDiscovery)) is None
