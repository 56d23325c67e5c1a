"""The pytest plugin with the fixture `kapy_plane`: a management plane for one test.

    def test_my_program(kapy_plane):
        subprocess.run(["kubectl", "get", "clusters"], check=True)

pytest finds it if kapy is installed. It imports nothing before a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from kapy.testing.planes import BackgroundPlane

MARK = "kapy"


def pytest_configure(config: pytest.Config) -> None:
    """Register the pytest mark that has the options of the fixture `kapy_plane`."""
    config.addinivalue_line(
        "markers",
        f"{MARK}(providers=..., extensions=..., gates=..., seed=...): how the fixture kapy_plane "
        "is to be, as the arguments of kapy.testing.plane",
    )


@pytest.fixture
def kapy_plane(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[BackgroundPlane]:
    """A management plane that serves HTTPS, and whose kubeconfig is $KUBECONFIG meanwhile."""
    from kapy.testing.planes import background_plane

    mark = request.node.get_closest_marker(MARK)
    options = {} if mark is None else mark.kwargs
    with background_plane(tmp_path / "kubeconfig", **options) as plane:
        monkeypatch.setenv("KUBECONFIG", str(plane.kubeconfig))
        yield plane
