"""The log of a plane in the background stays bounded, and `kapy logs` reads across a rotation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kapy.cli.plane_log import former_log, read_log

LIMIT = 10_000
PROGRAM = """
import logging, sys
from pathlib import Path
from kapy.cli.log_lines import log_to_stderr
from kapy.cli.plane_log import RotatingStderrHandler
log_to_stderr(0, "text", RotatingStderrHandler(Path(sys.argv[1]), 10_000))
print("begin", flush=True)
for number in range(int(sys.argv[2])):
    logging.warning("line %05d", number)
print("printed at the end", flush=True)
raise ValueError("a traceback")
"""


def run(log: Path, lines: int, output: Path | None = None) -> None:
    with (output or log).open("ab") as file:
        arguments = [sys.executable, "-c", PROGRAM, str(log), str(lines)]
        assert subprocess.run(arguments, stdout=file, stderr=file).returncode == 1


def numbers(text: str) -> list[int]:
    return [int(line.split()[-1]) for line in text.splitlines() if ": line " in line]


def test_the_file_is_rotated_and_all_output_follows(tmp_path: Path) -> None:
    log = tmp_path / "plane.log"
    run(log, 1_000)
    former, current = former_log(log).read_text(), log.read_text()
    assert LIMIT < len(former) < LIMIT + 200
    assert len(current) < LIMIT + 1_000
    assert current.index("printed at the end") < current.index("ValueError: a traceback")
    newest = numbers(former) + numbers(current)
    assert newest == list(range(1_000 - len(newest), 1_000))  # none is lost at the joint
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plane.log", "plane.log.1"]


def test_another_file_is_left_alone(tmp_path: Path) -> None:
    log, output = tmp_path / "plane.log", tmp_path / "mine.txt"
    log.write_text("of an earlier plane\n")
    run(log, 1_000, output)
    assert numbers(output.read_text()) == list(range(1_000))
    assert log.read_text() == "of an earlier plane\n"


def test_a_log_that_cannot_be_rotated_continues(tmp_path: Path) -> None:
    log = tmp_path / "plane.log"
    former_log(log).mkdir()
    run(log, 1_000)
    assert numbers(log.read_text()) == list(range(1_000))


def test_a_reader_follows_across_rotations(tmp_path: Path) -> None:
    log = tmp_path / "plane.log"
    log.write_text("one\n")
    steps = iter(["append", "rotate", "end"])

    def goes_on() -> bool:
        step = next(steps)
        with log.open("a") as file:
            file.write(f"{step}\n")
        if step == "rotate":
            log.replace(former_log(log))
            log.write_text("after\n")
        return step != "end"

    assert [line.strip() for line in read_log(log, goes_on)] == ["one", "append", "rotate", "after"]


def test_both_files_are_printed(tmp_path: Path) -> None:
    log = tmp_path / "plane.log"
    former_log(log).write_text("first\n")
    log.write_text("second\n")
    assert list(read_log(log, lambda: False)) == ["first\n", "second\n"]
