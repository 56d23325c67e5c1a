"""The diagrams of the architecture are those of the code."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.library.diagrams import FOLDER, LAST, ROOT, SOURCE, Call, drawings, traced_write


@pytest.fixture(scope="module")
def calls() -> list[Call]:
    return traced_write()


@pytest.fixture(scope="module")
def drawn(calls: list[Call]) -> dict[str, str]:
    return drawings(calls)


@pytest.mark.parametrize("name", ["layers.svg", "api-server-layers.svg", "write.svg"])
def test_a_diagram_is_drawn_anew_with_each_change(drawn: dict[str, str], name: str) -> None:
    file = ROOT / FOLDER / name
    assert file.read_text(encoding="utf-8") == drawn[name], "run `make reference`"


def test_every_package_has_its_place(drawn: dict[str, str]) -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {name for name in packages if f">{name}<" not in drawn["layers.svg"]} == set()


def test_a_write_is_stored_before_a_controller_reconciles_it(calls: list[Call]) -> None:
    callees = [call.callee for call in calls]
    assert calls[0].caller == "client"
    assert calls[-1][1:] == LAST
    way = ("server", "verbs", "store", "MachineDeployment controller")
    assert all(callees.index(caller) < callees.index(callee) for caller, callee in pairwise(way))
