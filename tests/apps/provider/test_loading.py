"""Providers are found by the name of their module, or it is told why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from kapy.apps.modules import NoModule
from kapy.apps.provider.loading import provider_at


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("nowhere_to_be_found", "there is no module nowhere_to_be_found"),
        ("kapy.sdk:Nothing", "kapy.sdk has no Nothing"),
        ("kapy.sdk:Provider", "is a type; it has to be a kapy.sdk.Provider"),
        ("needy", "needy needs not_installed, which is not installed"),
        ("broken", "broken cannot be imported"),
    ],
)
def test_a_module_without_a_provider_is_refused(
    place: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "needy.py").write_text("import not_installed\n")
    (tmp_path / "broken.py").write_text("this is no Python\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(NoModule, match=says):
        provider_at(place)
