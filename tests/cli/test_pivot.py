"""`kapy pivot` where it is called wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.cli.pivot import PivotOptions, _hints_after_forward
from kapy.cli.root import run
from kapy.clusterctl.inventory import Installed
from kapy.clusterctl.pivot.operation import Leftovers
from kapy.clusterctl.provider import ProviderType
from kapy.kube import Key

CORE = Installed("cluster-api", ProviderType.CORE, "v1.14.0", "capi-system", built_in=True)
GIVEN = PivotOptions("prod", "here.conf", "", "", "", False, False, 300, "auto")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KAPY_HOME", str(tmp_path / "kapy"))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("prod --back --dry-run", "--dry-run tells of a pivot, not of its way back; leave out"),
        ("prod", "there is no kubeconfig at "),
    ],
)
def test_invalid_arguments_are_reported(
    capsys: pytest.CaptureFixture[str], arguments: str, said: str
) -> None:
    assert run(["pivot", *arguments.split()]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        ("kapy/default", "`kapy down --delete`"),
        ("kapy/laptop", "`kapy down --delete --name laptop`"),
        ("elsewhere", "`kapy down --delete --data-dir {home}/elsewhere`"),
        ("", "`kapy delete --all --include-crd --include-namespace --kubeconfig here.conf`"),
    ],
)
def test_the_hint_shows_the_command_that_removes_the_old_plane(
    home: Path, folder: str, command: str
) -> None:
    place = home / folder if folder else None
    hints = _hints_after_forward(GIVEN, home / "prod.kubeconfig", place, Leftovers((), (CORE,)))
    assert f"Nothing needs it any more; {command.format(home=home)} removes it." == hints[-1]


def test_clusters_that_stay_keep_their_management_cluster(home: Path) -> None:
    leftovers = Leftovers((Key("other", "shop"),), (CORE,))
    hints = _hints_after_forward(GIVEN, home / "prod.kubeconfig", None, leftovers)
    assert hints[-3:] == [
        "  Cluster other/shop",
        "  its providers (cluster-api)",
        "Keep it as long as it looks after Clusters (namespaces: other).",
    ]
