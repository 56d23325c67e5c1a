"""`kapy conformance check`: what is printed, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kapy.cli.root import run
from tests.testing.conformance.valid_release import Draft


def written(folder: Path, draft: Draft) -> str:
    place = folder / draft.label / draft.version
    place.mkdir(parents=True)
    for file in draft.release().files:
        (place / file.name).write_text(file.text)
    return str(place)


def good() -> Draft:
    return Draft()


def without_must() -> Draft:
    draft = Draft()
    draft.of("Deployment")["metadata"]["namespace"] = "elsewhere"
    return draft


def without_should() -> Draft:
    draft = Draft()
    del draft.of("Deployment")["metadata"]["labels"]
    return draft


def without_may() -> Draft:
    draft = Draft()
    draft.schema("MeadowMachine", "status.failureDomain", "object")
    return draft


@pytest.mark.parametrize(
    ("draft", "flags", "code"),
    [
        (good(), [], 0),
        (good(), ["--fail-on", "may"], 0),
        (without_must(), [], 2),
        (without_must(), ["--fail-on", "MAY"], 2),
        (without_should(), [], 0),
        (without_should(), ["--fail-on", "SHOULD"], 3),
        (without_may(), ["--fail-on", "SHOULD"], 0),
        (without_may(), ["--fail-on", "MAY"], 4),
    ],
)
def test_the_exit_code_is_the_level_of_the_broken_rule(
    tmp_path: Path, draft: Draft, flags: list[str], code: int
) -> None:
    assert run(["conformance", "check", written(tmp_path, draft), *flags]) == code


def test_json_output_has_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["conformance", "check", written(tmp_path, without_must()), "-o", "json"])
    assert json.loads(capsys.readouterr().out)["releases"][0]["worst"] == "MUST"


def test_an_unreadable_file_is_reported_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    assert run(["conformance", "check", str(tmp_path)]) == 1
    messages = capsys.readouterr()
    assert messages.out == ""
    assert messages.err.startswith("Error: ")
    assert "a.yaml: line" in messages.err
