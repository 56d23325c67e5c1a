"""Logs of containers: what they said last, and the end of a long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.node_agent.log_files import read_log, termination_message

GO = """2026-11-22T17:23:13Z\tINFO\tsetup\tstarting
2026-11-22T17:23:14Z\tERROR\tsetup\tproblem running manager\t{"error": "address in use"}
main.main
\t/src/cmd/main.go:430
"""


@pytest.mark.parametrize(
    ("log", "words"),
    [
        ("", ""),
        ("one\ntwo\n\n", "two"),
        (GO, GO.splitlines()[1]),
        (
            'E1122 16:47:41.184750 1 main.go:208] "no"\nI1122 bye\n',
            'E1122 16:47:41.184750 1 main.go:208] "no"',
        ),
        (
            '{"level":"error","msg":"a"}\n{"level":"info","msg":"b"}\n',
            '{"level":"error","msg":"a"}',
        ),
        ("panic: oh\n\ngoroutine 1 [running]:\n", "panic: oh"),
        ("x" * 400, "x" * 297 + "..."),
    ],
)
def test_the_last_lines_of_a_log_name_its_error(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "0.log"
    path.write_text(log)
    assert termination_message(path) == words
    assert termination_message(tmp_path / "no.log") == ""


@pytest.mark.parametrize(
    ("tail", "limit", "shown"),
    [
        (None, None, "1\n2\n3\n"), (2, None, "2\n3\n"), (9, None, "1\n2\n3\n"),
        (0, None, ""), (None, 3, "1\n2"), (2, 1, "2"),
    ],
)  # fmt: skip
async def test_a_part_of_a_log_can_be_read(
    tmp_path: Path, tail: int | None, limit: int | None, shown: str
) -> None:
    path = tmp_path / "0.log"
    path.write_text("1\n2\n3\n")
    pieces = [line async for line in read_log(path, tail=tail, limit=limit, follow=None)]
    assert b"".join(pieces).decode() == shown


async def test_a_log_is_followed_until_nothing_more_comes(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_text("1\n")
    more = ["2\n", "3\n"]

    def goes_on() -> bool:
        if not more:
            return False
        with path.open("a") as file:
            file.write(more.pop(0))
        return True

    pieces = [line async for line in read_log(path, tail=None, limit=None, follow=goes_on)]
    assert b"".join(pieces) == b"1\n2\n3\n"
