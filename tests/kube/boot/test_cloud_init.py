"""Boot data carried out as the real cloud-init does it.

`cloud_init.json` is what Debian's cloud-init left (`python -m tests.real.cloud_init record`).
With `KAPY_TEST_CLOUD_INIT=true` the real one carries out the same data again; `make test-real` has
it set.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kube.boot.carrying_out import carried_out
from tests.kube.boot.cloud_init_cases import CASES, Case
from tests.real import cloud_init

RECORD: Final[dict[str, Any]] = json.loads(cloud_init.RECORDED.read_text())


def test_every_case_is_recorded() -> None:
    assert list(RECORD) == [case.name for case in CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("together", [True, False])
def test_the_same_files_are_there_afterwards(case: Case, tmp_path: Path, *, together: bool) -> None:
    files, failed = carried_out(case, tmp_path, together=together)
    recorded = dict(RECORD[case.name])
    assert failed == case.fails
    for path in case.differing:
        # cloud-init goes on after a failure, and runs all commands in one shell.
        assert files.pop(path, None) != recorded.pop(path)
    assert files == recorded


@pytest.mark.skipif("KAPY_TEST_CLOUD_INIT" not in os.environ, reason="opt-in, needs root")
def test_the_real_cloud_init_leaves_the_recorded_files() -> None:
    root = cloud_init.root_file_system()
    assert {case.name: cloud_init.carried_out(root, case) for case in CASES} == RECORD
