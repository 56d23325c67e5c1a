"""The configuration file: where it is looked for, and what it means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from kapy.clusterctl.config import Config, load
from kapy.clusterctl.errors import ConfigError


def written(folder: Path, text: str, name: str = "clusterctl.yaml") -> Config:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return load(str(folder / name), {"HOME": str(folder)})


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A: text", "text"),
        ("A: 'quoted: text'", "quoted: text"),
        ("A: 3", "3"),
        ("A: 0x10", "16"),
        ("A: 1.10", "1.1"),
        ("A: 1.0", "1"),
        ("A: 1e3", "1000"),
        ("A: v1.34.0", "v1.34.0"),
        ("A: 2026-01-01", "2026-01-01"),
        ("A: true", "true"),
        ("A: TRUE", "true"),
        ("A: yes", "yes"),
        ("A: On", "On"),
        ("a: lower case", "lower case"),
        ('A: ""', ""),
        ("A: [1]", ""),
        ("A:", None),
        ("A: ~", None),
        ("B: 1", None),
        ("", None),
    ],
)
def test_a_setting_is_the_text_that_upstream_reads(
    tmp_path: Path, line: str, value: str | None
) -> None:
    assert written(tmp_path, line).variables.get("A") == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.yml", "A: x\nproviders: []"),
        ("c.json", '{"A": "x"}'),
        ("c.toml", 'A = "x"'),
        ("without-end", "A: x"),
    ],
)
def test_a_file_is_read_by_the_end_of_its_name(tmp_path: Path, name: str, text: str) -> None:
    assert written(tmp_path, text, name).variables.get("A") == "x"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c.yaml", "a: 1\nb: [", "c.yaml: line 3: "),
        ("c.yaml", "- a", "must be a map of settings"),
        ("c.json", "{", "Expecting property name"),
        ("c.toml", "a", "c.toml"),
        ("c.ini", "", 'a file "*.ini" cannot be read; write it as YAML'),
    ],
)
def test_a_broken_file_is_reported_with_its_name(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    with pytest.raises(ConfigError) as error:
        written(tmp_path, text, name)
    assert said in str(error.value)
    assert str(tmp_path / name) in str(error.value)


def test_a_folder_and_an_absent_file_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="Is a directory"):
        load(str(tmp_path), {})
    with pytest.raises(ConfigError, match=r"missing\.yaml: no such file or directory"):
        load(str(tmp_path / "missing.yaml"), {})


def test_the_usual_file_is_that_of_xdg_and_then_that_of_the_home_folder(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert load(None, environ).variables.get("A") is None
    written(tmp_path / ".cluster-api", "A: home")
    assert load(None, environ).variables.get("A") == "home"
    written(tmp_path / "xdg" / "cluster-api", "A: xdg")
    assert load(None, environ).variables.get("A") == "xdg"
    assert load("", environ).variables.get("A") == "xdg"


@pytest.mark.parametrize(
    ("environ", "file", "name", "value"),
    [
        ({"A": "environment"}, "A: file", "A", "environment"),
        ({"A": ""}, "A: file", "A", ""),
        ({}, "A: file", "a", "file"),
        ({"GITHUB_TOKEN": "t"}, "", "github-token", "t"),
        ({}, "GITHUB-TOKEN: t", "github-token", "t"),
        ({"a": "not in capitals"}, "", "a", None),
    ],
)
def test_the_environment_counts_more_than_the_file(
    tmp_path: Path, environ: Mapping[str, str], file: str, name: str, value: str | None
) -> None:
    (tmp_path / "c.yaml").write_text(file)
    assert load(str(tmp_path / "c.yaml"), environ).variables.get(name) == value


def test_a_flag_counts_more_than_the_environment() -> None:
    config = load(None, {"HOME": "/nowhere", "NAMESPACE": "environment"})
    config.variables.set("NAMESPACE", "flag")
    assert config.variables.get("NAMESPACE") == "flag"


@pytest.mark.parametrize(
    ("text", "there", "folder"),
    [
        ("", [], "xdg/cluster-api/overrides"),
        ("", [".cluster-api/overrides"], ".cluster-api/overrides"),
        ("", [".cluster-api/overrides", "xdg/cluster-api/overrides"], "xdg/cluster-api/overrides"),
        ("overridesFolder: ${HOME}/mine", [], "mine"),
        ("overridesFolder: ' '", [], "xdg/cluster-api/overrides"),
    ],
)
def test_overrides_are_where_the_file_says_or_beside_it(
    tmp_path: Path, text: str, there: list[str], folder: str
) -> None:
    for name in there:
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "c.yaml").write_text(text)
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert load(str(tmp_path / "c.yaml"), environ).overrides_folder == tmp_path / folder
