"""A few cases of each topic, kept here so that a clone alone has them; and the replayer itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.oracle.__main__ import main
from tests.oracle.known import APISERVER
from tests.oracle.recorded import HELD, SAMPLES, SUBTOPICS
from tests.oracle.registry import PURE, play


@pytest.mark.parametrize("topic", PURE)
def test_the_samples_of_a_pure_topic_pass(topic: str) -> None:
    (results,) = dict(play(topic, SAMPLES / topic)).values()
    assert len(results) >= 20
    assert [item for item in results if not item.passed] == []


@pytest.mark.parametrize("topic", HELD)
def test_the_samples_of_our_kinds_pass(topic: str) -> None:
    (results,) = dict(play(topic, SAMPLES / topic)).values()
    assert len(results) >= 20
    assert [item for item in results if not item.passed] == []


@pytest.mark.sockets
def test_the_samples_of_the_api_server_pass() -> None:
    results = dict(play("apiserver", SAMPLES / "apiserver"))
    assert sorted(results) == sorted(SUBTOPICS)
    failed = [item for some in results.values() for item in some if not item.passed]
    assert [item for item in failed if item.case not in APISERVER] == []


def test_a_replay_ends_with_its_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["crdnames", str(SAMPLES / "crdnames")]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "crdnames: 30 passed, 0 failed"


def test_a_failed_case_shows_its_differences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {"group": "example.com", "kind": "Herd", "crd": "cows.example.com"}
    (tmp_path / "crdnames.jsonl").write_text(json.dumps(wrong))
    assert main(["crdnames", str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "FAIL crdnames[0]",
        '    answer: recorded "cows.example.com", given "herds.example.com"',
        "crdnames: 0 passed, 1 failed",
    ]


def test_a_file_that_no_topic_reads_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text("{}\n")
    assert main(["crdnames", str(tmp_path)]) == 1


def test_an_empty_folder_does_not_pass(tmp_path: Path) -> None:
    assert main(["crdnames", str(tmp_path)]) == 1


@pytest.mark.parametrize("arguments", [["nothing", "."], ["crdnames", "no/such/folder"]])
def test_topics_that_cannot_be_replayed_are_reported(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
