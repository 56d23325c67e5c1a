"""Cases that are kept, with the real server's answers: `tests/data/differential/AREA.jsonl`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from tests.differential.case import Case

FOLDER: Final = Path(__file__).resolve().parents[1] / "data" / "differential"


def kept(area: str) -> list[Case]:
    """The kept cases of an area."""
    path = FOLDER / f"{area}.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def keep(area: str, cases: list[Case]) -> int:
    """Add cases that are not there yet; how many were new."""
    there = kept(area)
    questions = {_asked(document) for document in there}
    new = [case for case in cases if _asked(case) not in questions]
    FOLDER.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps(document, ensure_ascii=False, separators=(",", ":"))
        for document in [*there, *new]
    ]
    (FOLDER / f"{area}.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return len(new)


def _asked(case: Case) -> str:
    steps = [{k: v for k, v in step.items() if k != "response"} for step in case["steps"]]
    return json.dumps(steps, sort_keys=True)
