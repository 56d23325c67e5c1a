"""The same patterns, texts and replacements, judged by Go's `regexp`.

`verdicts.jsonl` is what `judge.go` said of a sample. With `KAPY_TEST_GO_REGEXP=<count>` and a Go
compiler, that many more are made up and judged.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from random import Random

import pytest

from tests.kube.regexp.generated import questions, verdict

_DATA = Path(__file__).parents[2] / "data" / "go_regexp"
_UNSUPPORTED = "not supported within brackets"


def test_patterns_are_judged_as_go_judges_them() -> None:
    records = list(map(json.loads, (_DATA / "verdicts.jsonl").read_text().splitlines()))
    assert len(records) > 900
    wrong, unsupported = [], 0
    for record in records:
        document = verdict(record["question"])
        if _UNSUPPORTED in document.get("error", ""):
            unsupported += 1
        elif document != record["verdict"]:
            wrong.append((record["question"], record["verdict"], document))
    assert wrong == []
    assert unsupported <= 1


@pytest.mark.skipif("KAPY_TEST_GO_REGEXP" not in os.environ, reason="opt-in, needs Go")
def test_generated_patterns_are_judged_as_go_judges_them(tmp_path: Path) -> None:
    compiler = shutil.which("go")
    assert compiler is not None
    judge = tmp_path / "judge"
    subprocess.run([compiler, "build", "-o", judge, _DATA / "judge.go"], check=True)
    request = questions(Random().randrange(1 << 32), int(os.environ["KAPY_TEST_GO_REGEXP"]))
    lines = "\n".join(map(json.dumps, request))
    out = subprocess.run([judge], input=lines, capture_output=True, text=True, check=True).stdout
    wrong = [
        (question["pattern"], answer, document)
        for question, answer in zip(request, map(json.loads, out.splitlines()), strict=True)
        if (document := verdict(question)) != answer
        and _UNSUPPORTED not in document.get("error", "")
    ]
    assert wrong == []
