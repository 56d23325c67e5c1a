"""`connect` uses the credentials that a Go program with controller-runtime would use."""

from __future__ import annotations

from pathlib import Path

import pytest

import kapy.client
from kapy.client import KubeconfigError, in_cluster
from kapy.client.kubeconfig import Kubeconfig, with_context
from kapy.client.session import access
from kapy.kube.yaml import dump

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with a kubeconfig, two files beside it, and a mounted service account."""
    for name in (".kube/config", "env", "flag"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        document = with_context({}, "one", Kubeconfig(server=f"https://{path.name}:1", token="t"))
        two = with_context(document, "two", Kubeconfig(server=f"https://{path.name}:2", token="t"))
        path.write_text(dump({**two, "current-context": "one"}))
    account = tmp_path / "account"
    account.mkdir()
    (account / "ca.crt").write_text("")
    (account / "token").write_text("t")
    monkeypatch.setattr(in_cluster.in_cluster, "__defaults__", (account,))
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("flag", "context", "variables", "server"),
    [
        ("", "", {}, "https://config:1"),
        ("", "two", {}, "https://config:2"),
        ("", "", {"KUBECONFIG": "env"}, "https://env:1"),
        ("", "", POD, "https://10.0.0.1:443"),
        ("", "two", POD, "https://config:2"),
        ("", "", POD | {"KUBECONFIG": "env"}, "https://env:1"),
        ("flag", "", POD | {"KUBECONFIG": "env"}, "https://flag:1"),
        ("flag", "two", POD, "https://flag:2"),
    ],
)
def test_the_flag_wins_then_the_variable_then_the_service_account_then_the_home_folder(
    files: Path, flag: str, context: str, variables: dict[str, str], server: str
) -> None:
    if name := variables.get("KUBECONFIG"):
        variables = variables | {"KUBECONFIG": str(files / name)}
    assert access(flag and files / flag, context, variables).server == server


async def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match=f"no kubeconfig at {tmp_path}/none"):
        async with kapy.client.connect(tmp_path / "none"):
            pass


def test_every_public_name_is_there() -> None:
    assert [name for name in kapy.client.__all__ if getattr(kapy.client, name) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kapy.client.nothing
