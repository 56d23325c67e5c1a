"""The plane's certificates: kept between runs, readable by nobody else."""

from __future__ import annotations

import stat
from datetime import timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import EPOCH
from kapy.apps.credentials import UnusableCredentials, credentials
from kapy.apps.settings import Serving
from kapy.kube.pki import facts


def test_the_authority_stays_and_the_rest_is_new(tmp_path: Path) -> None:
    serving = Serving(pki=tmp_path / "pki")
    first = credentials(serving, EPOCH)
    second = credentials(serving, EPOCH + timedelta(days=400))
    assert first.authority == second.authority
    assert first.server != second.server
    assert facts(second.administrator.certificate).not_after > EPOCH + timedelta(days=700)


def test_an_authority_that_ends_soon_is_replaced(tmp_path: Path) -> None:
    serving = Serving(pki=tmp_path)
    first = credentials(serving, EPOCH)
    later = credentials(serving, EPOCH + timedelta(days=3650))
    assert first.authority != later.authority


def test_keys_are_their_owners_only(tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    credentials(Serving(pki=folder), EPOCH)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {one.name for one in folder.iterdir()} == {"ca.crt", "ca.key"}
    assert {stat.S_IMODE(one.stat().st_mode) for one in folder.iterdir()} == {0o600}


def test_a_damaged_authority_is_said(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("nothing")
    (tmp_path / "ca.key").write_text("-----BEGIN SECRET-----")
    with pytest.raises(UnusableCredentials, match="remove that folder") as caught:
        credentials(Serving(pki=tmp_path), EPOCH)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "named"), [("127.0.0.1", "127.0.0.1"), ("10.0.0.7", "10.0.0.7"), ("kapy.test",) * 2]
)
def test_the_server_is_named_as_it_is_reached(host: str, named: str) -> None:
    made = credentials(Serving(host=host), EPOCH)
    assert named in facts(made.server.certificate).names


def test_the_administrator_is_a_superuser() -> None:
    told = facts(credentials(Serving(), EPOCH).administrator.certificate)
    assert (told.common_name, told.organizations) == ("kubernetes-admin", ("system:masters",))
