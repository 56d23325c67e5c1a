"""Kubeconfigs: what they say, what is wrong with them, and writing them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from kapy.client import kubeconfig_files as files
from kapy.client.kubeconfig import (
    Kubeconfig,
    KubeconfigError,
    access,
    merge,
    parse,
    with_context,
    without_context,
)
from kapy.kube import Document
from kapy.kube.yaml import load

OURS = Kubeconfig("https://127.0.0.1:6443", b"CA", b"CERTIFICATE", b"KEY", namespace="default")
TOKEN = Kubeconfig("https://other:6443", token="secret-token", insecure=True)


def test_a_written_kubeconfig_is_read_back() -> None:
    document = with_context(with_context({}, "kapy", OURS), "other", TOKEN)
    assert access(document) == TOKEN
    assert access(document, context="kapy") == OURS
    assert document["clusters"][0] == {
        "name": "kapy",
        "cluster": {"server": "https://127.0.0.1:6443", "certificate-authority-data": "Q0E="},
    }


def test_a_context_is_replaced_and_removed_and_the_rest_stays_unchanged() -> None:
    foreign: Document = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {"colors": True},
        "clusters": [{"name": "mine", "cluster": {"server": "https://mine", "extension": 1}}],
        "contexts": [{"name": "mine", "context": {"cluster": "mine", "user": "me"}}],
        "users": [{"name": "me", "user": {"exec": {"command": "login"}}}],
        "current-context": "mine",
    }
    changed = with_context(with_context(foreign, "kapy", TOKEN), "kapy", OURS)
    assert len(changed["clusters"]) == len(changed["users"]) == len(changed["contexts"]) == 2
    assert changed["current-context"] == "kapy"
    removed = without_context(changed, "kapy")
    assert removed == {**foreign, "current-context": ""}
    assert without_context(foreign, "kapy") == foreign


def test_the_first_file_that_has_a_name_wins() -> None:
    document = with_context({}, "a", OURS)
    two = with_context(with_context({}, "a", TOKEN), "b", TOKEN)
    both = merge([document, two])
    assert access(both) == OURS
    assert access(both, context="b") == TOKEN


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "line"),
        ("- a", "not a kubeconfig"),
        ("kind: Pod", "not a kubeconfig"),
        ("", "no context is given"),
        ("current-context: x", "no context 'x'"),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]",
            "no cluster 'c'",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://c'}}]",
            "no user 'u'",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'c:6443'}}]",
            "no server URL",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://c', certificate-authority: f}}]",
            "names a file",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://c'}}]\n"
            "users: [{name: u, user: {client-key-data: 's3cret!'}}]",
            "client-key-data is not base64",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://c'}}]\n"
            "users: [{name: u, user: {auth-provider: {name: oidc}}}]",
            "'auth-provider' are not supported",
        ),
        (
            "current-context: x\ncontexts: [{name: x, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'https://c',"
            " proxy-url: 'socks4://me:s3cret@p'}}]",
            "proxy-url is supported with http://, https://, socks5://, socks5h:// only",
        ),
    ],
)
def test_an_invalid_kubeconfig_is_reported_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(KubeconfigError) as caught:
        parse(text, "here")
    assert words in str(caught.value)
    assert str(caught.value).startswith("here: ")
    assert "s3cret" not in str(caught.value)


def test_secrets_are_not_shown() -> None:
    text = repr([OURS, TOKEN])
    assert "KEY" not in text
    assert "secret-token" not in text


def test_files_are_found_as_kubectl_finds_them(tmp_path: Path) -> None:
    assert files.paths({}, tmp_path) == [tmp_path / ".kube" / "config"]
    path, two = tmp_path / "one", tmp_path / "two"
    both = files.paths({"KUBECONFIG": f"{path}:{two}:"}, tmp_path)
    assert both == [path, two]
    assert files.path_to_write(both) == two
    path.write_text("")
    assert files.path_to_write(both) == path


def test_a_kubeconfig_is_private_and_keeps_foreign_entries(tmp_path: Path) -> None:
    path = tmp_path / "kube" / "config"
    files.edit(path, lambda document: with_context(document, "kapy", OURS))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    path.chmod(0o644)
    files.edit(path, lambda document: with_context(document, "other", TOKEN))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert files.load([path], "kapy") == OURS
    assert files.load([path]) == TOKEN
    assert [item.name for item in path.parent.iterdir()] == ["config"]


def test_a_link_to_a_file_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "config"
    link.symlink_to(real)
    files.edit(link, lambda document: with_context(document, "kapy", OURS))
    assert link.is_symlink()
    assert load(real.read_bytes())["current-context"] == "kapy"


def test_a_file_that_another_program_writes_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("kind: Config\n")
    (tmp_path / "config.lock").touch()
    with pytest.raises(KubeconfigError, match="another program"):
        files.edit(path, lambda document: with_context(document, "kapy", OURS))
    assert path.read_text() == "kind: Config\n"
    assert (tmp_path / "config.lock").exists()


def test_a_broken_file_is_not_written_over(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("kind: [")
    with pytest.raises(KubeconfigError, match="line"):
        files.edit(path, lambda document: with_context(document, "kapy", OURS))
    assert [item.name for item in tmp_path.iterdir()] == ["config"]


def test_file_names_are_relative_to_the_file_that_names_them(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "ca.pem").write_bytes(b"CA")
    document = with_context({}, "x", TOKEN)
    document["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
    files.edit(folder / "config", lambda _: document)
    assert files.load([folder / "config"]).certificate_authority == b"CA"
    (folder / "ca.pem").unlink()
    with pytest.raises(KubeconfigError, match=r"cannot read .*ca\.pem"):
        files.load([folder / "config"])


def test_an_error_about_missing_contexts_names_the_command_that_adds_one(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text("{kind: Config, contexts: []}")
    with pytest.raises(KubeconfigError, match="has no context, as after `kapy down`; `kapy up`"):
        files.load([path])
    with pytest.raises(KubeconfigError, match="mine"):
        files.load([path], "mine")


def test_no_file_at_all_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="there is no kubeconfig at"):
        files.load([tmp_path / "config"])
    with pytest.raises(KubeconfigError, match="cannot read"):
        files.load([tmp_path])


@pytest.mark.parametrize("value", ["*SUPERSECRET", "!!int SUPERSECRET", "!!timestamp SUPERSECRET"])
def test_an_error_does_not_quote_a_secret(value: str) -> None:
    text = f"users:\n- name: u\n  user: {{token: {value}}}\n"
    with pytest.raises(KubeconfigError, match="is not valid YAML") as raised:
        parse(text, source="Secret a/b")
    assert "SUPERSECRET" not in str(raised.value)
