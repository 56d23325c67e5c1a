"""`kapy move` where it is called wrongly, or has nothing to go on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.cli.api_warnings import WarningPrinter
from kapy.cli.root import run
from kapy.clusterctl.move.journal import Journal, Mode, MoveStarted, Place
from kapy.kube.http import Reply, Request

_FINALIZERS = (
    'metadata.finalizers: "cluster.cluster.x-k8s.io": prefer a domain-qualified finalizer name '
    "including a path (/) to avoid accidental conflicts with other finalizer writers"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAPY_HOME", str(tmp_path / "kapy"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "please specify a target cluster using the --to-kubeconfig flag when not using "),
        (
            "--to-directory d --to-kubeconfig k",
            "if any flags in the group [to-directory to-kubeconfig] are set none of the others can "
            "be; [to-directory to-kubeconfig] were all set",
        ),
        ("--from-directory d --to-directory k", "[from-directory to-directory] were all set"),
        ("--from-directory d --kubeconfig k", "[from-directory kubeconfig] were all set"),
        ("--resume --rollback", "[resume rollback] were all set"),
        ("--dry-run --hide-api-warnings some", 'set of API warnings "some" is unknown; choose '),
        ("--dry-run", "there is no kubeconfig at "),
        ("--resume", "there is no move to go on with: every journal in "),
        ("--rollback --journal gone.jsonl", "cannot read the journal gone.jsonl: No such file"),
    ],
)
def test_invalid_arguments_are_reported_in_one_sentence(
    capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    assert run(["move", *arguments.split()]) == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("Error: ")
    assert said in err


def test_one_of_several_moves_must_be_named(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    for name in "ab":
        begun = MoveStarted(name, Mode.CLUSTERS, f"ns-{name}", Place(), Place())
        Journal.new(home / "kapy" / "moves" / f"{name}.jsonl", begun).close()
    assert run(["move", "--resume"]) == 1
    err = capsys.readouterr().err
    assert "several moves have not ended; choose one with --journal" in err
    assert "a.jsonl (ns-a, to another cluster)" in err


@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("none", ["Old is deprecated", "Older is deprecated; use New", _FINALIZERS]),
        ("default", ["Old is deprecated"]),
        ("all", []),
    ],
)
async def test_warnings_of_servers_are_shown_once(hidden: str, shown: list[str]) -> None:
    messages = [
        "Old is deprecated",
        "Older is deprecated; use New",
        _FINALIZERS.replace('"', '\\"'),
    ]
    warnings: list[str] = []

    async def server(_: Request) -> Reply:
        return Reply(200, {}, {"warning": "\n".join(f'299 - "{text}"' for text in messages)})

    warned = WarningPrinter(server, hidden, warnings.append)
    await warned(Request("GET", "/"))
    await warned(Request("GET", "/"))
    assert warnings == [f"[API Server Warning] {text}" for text in shown]
