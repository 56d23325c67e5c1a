"""Options of `kapy simulate` that cannot work, or would have no effect, are refused at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from kapy.cli.simulate import simulate


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--scenario create --until -1", "--until is -1; give seconds from 0"),
        ("--scenario create --until nan", "--until is nan; give seconds from 0"),
        ("--scenario create --trace FOLDER", "FOLDER is a directory; name a file"),
        ("--scenario create --trace FOLDER/none/x", "there is no such directory"),
        ("--scenario create --every stale --until 1", "has no --trace and no --until"),
        ("--scenario create --every stale --trace -", "has no --trace and no --until"),
        ("--scenario create --sample 2", "--sample and --jobs need --every"),
        ("--scenario create --jobs 2", "--sample and --jobs need --every"),
        ("--scenario create --faults 99999", "give at most 4 digits"),
        ("--scenario create --faults ,", "`none` plays without faults"),
        ("--until 1", "need one --scenario"),
        ("--release FOLDER", "--release and --in-process belong together"),
        ("--in-process a:b", "--release and --in-process belong together"),
        ("--scenario create --manager provider", "--manager provider: there are core, bootstrap"),
    ],
)
def test_options_that_cannot_work_are_refused_before_the_run(
    options: str, message: str, tmp_path: Path
) -> None:
    words = options.replace("FOLDER", str(tmp_path)).split()
    result = CliRunner().invoke(simulate, words)
    assert result.exit_code != 0
    assert message.replace("FOLDER", str(tmp_path)) in result.output
