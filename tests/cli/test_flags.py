"""The command line parses as upstream's does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kapy.cli.flags import Command, Persistent, command, persistent, strings
from kapy.cli.lazy import LazyGroup
from kapy.cli.root import ROOT, run
from tests.cli.surface import walk

SEEN: list[tuple[str, bool, bool, tuple[str, ...], Persistent]] = []


@command(missing="please specify a name")
@click.argument("name")
@click.option("-f", "--force", is_flag=True)
@click.option("--grouping/--no-grouping", default=True)
@strings("-i", "--infrastructure", help="")
def probe(name: str, force: bool, grouping: bool, infrastructure: tuple[str, ...]) -> None:
    SEEN.append((name, force, grouping, infrastructure, persistent()))


GROUP = LazyGroup("group", commands_at={"probe": ("tests.cli.test_flags:probe", "Probe.")})


@pytest.fixture(autouse=True)
def nothing_seen() -> None:
    SEEN.clear()


@pytest.mark.parametrize(
    ("arguments", "force", "grouping", "infrastructure"),
    [
        (["x"], False, True, ()),
        (["x", "--force=true", "--grouping=false"], True, False, ()),
        (["--force=false", "x", "--grouping=1"], False, True, ()),
        (["x", "-f", "-i", "aws,docker", "-igcp"], True, True, ("aws", "docker", "gcp")),
        (["x", "--infrastructure", "aws", "--no-grouping"], False, False, ("aws",)),
        (["x", "-i=aws,docker", "-i=", "-i", "a=b"], False, True, ("aws", "docker", "a=b")),
    ],
)
def test_switches_take_values_and_lists_take_commas(
    arguments: list[str], force: bool, grouping: bool, infrastructure: tuple[str, ...]
) -> None:
    GROUP.main(["probe", *arguments], standalone_mode=False)
    assert SEEN[0][:4] == ("x", force, grouping, infrastructure)


@pytest.mark.parametrize(
    "arguments",
    [
        ["probe", "x", "--config", "c.yaml", "-v", "5"],
        ["probe", "--v=5", "--config=c.yaml", "x"],
        ["--config", "c.yaml", "-v5", "probe", "x"],
        ["probe", "-v=5", "x", "--config", "c.yaml"],
    ],
)
def test_common_flags_may_stand_anywhere(arguments: list[str]) -> None:
    GROUP.main(arguments, standalone_mode=False)
    result = SEEN[0][4]
    assert (result.config, result.verbosity) == ("c.yaml", 5)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["version", "--foo"], "unknown flag: --foo"),
        (["version", "-x"], "unknown shorthand flag: 'x' in -x"),
        (["describe", "cluster", "x", "--show-machineset"], "unknown flag: --show-machineset (is"),
        (["version", "-v", "x"], 'invalid argument "x" for "-v, --v" flag'),
        (["describe", "cluster", "x", "--echo=perhaps"], 'invalid argument "perhaps" for "--echo"'),
        (["version", "-o", "zz"], "invalid output format: zz"),
        (["completion", "tcsh"], 'unsupported shell type "tcsh"'),
        (["nonsense"], 'unknown command "nonsense" for "kapy"'),
    ],
)
def test_wrong_usage_is_one_sentence(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"Error: {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe", "cluster"], "please specify a cluster name"),
        (["describe", "cluster", "a", "b"], "please specify a cluster name"),
        (["get", "kubeconfig"], "please specify a workload cluster name"),
        (["completion"], "please specify a shell"),
    ],
)
def test_a_missing_argument_shows_the_help(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 1
    out, err = capsys.readouterr()
    assert err == f"Error: {said}\n\n"
    assert out.startswith("Usage: kapy ")


@pytest.mark.parametrize(
    "arguments", [["get"], ["get", "nonsense"], ["alpha", "rollout", "undo", "x"], ["help", "get"]]
)
def test_a_group_without_a_known_command_prints_its_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 0
    assert capsys.readouterr().out.startswith("Usage: kapy ")


def test_every_command_takes_the_common_flags() -> None:
    leaves = [place for place in walk(ROOT) if not isinstance(place.command, click.Group)]
    assert [leaf.path for leaf in leaves if not isinstance(leaf.command, Command)] == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_completion_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert "_KAPY_COMPLETE" in capsys.readouterr().out


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not there")
@pytest.mark.parametrize(
    ("words", "completed"),
    [("kapy gene", "generate"), ("kapy generate cluster --fl", "--flavor")],
)
def test_bash_completes(words: str, completed: str) -> None:
    script = (
        f"source <(kapy completion bash); COMP_LINE='{words}'; COMP_POINT={len(words)}"
        f"; COMP_WORDS=({words}); COMP_CWORD={len(words.split()) - 1}"
        '; _kapy_complete kapy; echo "${COMPREPLY[@]}"'
    )
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=environ, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == ([completed], "")
