"""Every command and flag of upstream's clusterctl is there, and the reference names all of ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest

from kapy.cli.reference import page
from kapy.cli.root import ROOT
from tests.cli.surface import walk

ROOT_FOLDER = Path(__file__).parents[2]
RECORDED: dict[str, Any] = json.loads(
    (ROOT_FOLDER / "tests" / "data" / "clusterctl" / "commands.json").read_text()
)
OURS = {place.path or "(root)": place.command for place in walk(ROOT)}


@pytest.mark.parametrize("path", RECORDED)
def test_a_command_of_clusterctl_is_there_with_its_flags(path: str) -> None:
    command = OURS[path]
    there = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    wanted = {
        name
        for flag, result in RECORDED[path]["flags"].items()
        for name in (f"--{flag}", *([f"-{result['short']}"] if result["short"] else []))
    }
    assert wanted - there - {"--help", "-h"} == set()


@pytest.mark.parametrize(
    ("path", "flag"),
    [
        (path, flag)
        for path, result in RECORDED.items()
        for flag, value in result["flags"].items()
        if value["type"] in ("strings", "bool", "int") and flag not in ("help", "v")
    ],
)
def test_a_flag_takes_the_values_that_clusterctls_takes(path: str, flag: str) -> None:
    kind, default = (RECORDED[path]["flags"][flag][key] for key in ("type", "default"))
    (option,) = (param for param in OURS[path].params if f"--{flag}" in param.opts)
    assert isinstance(option, click.Option)
    if kind == "bool":
        assert option.is_flag
        if flag != "color":  # it looks whether there is a terminal
            there = option.get_default(click.Context(OURS[path]))
            assert bool(there) == (default == "true")
    elif kind == "strings":
        assert option.multiple
    else:
        assert isinstance(option.type, click.types.IntParamType)


def test_the_reference_is_the_one_that_is_printed() -> None:
    """`make reference` writes it."""
    assert (ROOT_FOLDER / "docs" / "reference" / "commands.md").read_text() == page()
