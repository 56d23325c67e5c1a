"""The plane's certificates: kept between runs, readable by nobody else."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import EPOCH, loop_clock
from kapy.apiserver.store.errors import DataLost
from kapy.apps.all_in_one import management_plane
from kapy.apps.credentials import UnusableCredentials, issue_credentials
from kapy.apps.settings import Serving, Settings
from kapy.kube.pki import facts, load, new_ca, new_key


def test_the_authority_stays_and_the_rest_is_new(tmp_path: Path) -> None:
    serving = Serving(pki=tmp_path / "pki")
    first = issue_credentials(serving, EPOCH)
    second = issue_credentials(serving, EPOCH + timedelta(days=400))
    assert first.authority == second.authority
    assert first.server != second.server
    assert facts(second.administrator.certificate).not_after > EPOCH + timedelta(days=700)


@pytest.mark.parametrize("days", [-300, 0, 9 * 365, 3649])
def test_no_clock_replaces_an_authority(tmp_path: Path, days: int) -> None:
    """Nor does a wrong one break the start that follows, with the right one."""
    serving = Serving(pki=tmp_path)
    first = issue_credentials(serving, EPOCH)
    wrong = issue_credentials(serving, EPOCH + timedelta(days=days))
    later = issue_credentials(serving, EPOCH + timedelta(days=1))
    assert first.authority == wrong.authority == later.authority
    for key_pair in (wrong.server, wrong.administrator, later.server, later.administrator):
        result = facts(key_pair.certificate)
        assert result.not_before <= EPOCH < result.not_after
        assert result.not_after <= facts(first.authority.certificate).not_after


@pytest.mark.parametrize("days", [-300, 9 * 365])
def test_an_authority_of_a_wrong_clock_is_valid_with_the_right_one(
    tmp_path: Path, days: int
) -> None:
    serving = Serving(pki=tmp_path)
    first = issue_credentials(serving, EPOCH + timedelta(days=days))
    later = issue_credentials(serving, EPOCH)
    assert first.authority == later.authority
    result = facts(later.authority.certificate)
    assert result.not_before <= EPOCH < result.not_after


def test_an_authority_that_begins_later_keeps_its_key_and_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """As earlier versions made them while the clock was ahead."""
    ahead = new_ca("kapy", now=EPOCH + timedelta(days=3000), algorithm="ECDSA-P256")
    (tmp_path / "ca.crt").write_bytes(ahead.certificate)
    (tmp_path / "ca.key").write_bytes(ahead.key)
    credentials = issue_credentials(Serving(pki=tmp_path), EPOCH)
    old, new = facts(ahead.certificate), facts(credentials.authority.certificate)
    assert credentials.authority.key == ahead.key
    assert (new.not_after, new.common_name) == (old.not_after, old.common_name)
    assert new.not_before <= EPOCH
    assert "the clock was wrong when it was made" in caplog.text
    # A client that trusts the old CA certificate also trusts newly issued certificates.
    load(credentials.server.certificate).verify_directly_issued_by(load(ahead.certificate))
    assert issue_credentials(Serving(pki=tmp_path), EPOCH).authority == credentials.authority


def test_an_authority_that_ended_is_refused(tmp_path: Path) -> None:
    serving = Serving(pki=tmp_path)
    first = issue_credentials(serving, EPOCH)
    with pytest.raises(UnusableCredentials, match=r"good until 2035-.*set the clock.*--replace-k"):
        issue_credentials(serving, EPOCH + timedelta(days=3651))
    assert issue_credentials(serving, EPOCH).authority == first.authority
    later = EPOCH + timedelta(days=3651)
    credentials = issue_credentials(Serving(pki=tmp_path, replace_keys=True), later)
    assert issue_credentials(serving, later).authority == credentials.authority != first.authority
    assert (tmp_path / "ca.key.replaced").read_bytes() == first.authority.key


def test_an_authority_that_ends_within_a_year_is_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    serving = Serving(pki=tmp_path)
    issue_credentials(serving, EPOCH)
    assert caplog.text == ""
    issue_credentials(serving, EPOCH + timedelta(days=3300))
    assert "ends at 2035-12-30 00:00:00 UTC" in caplog.text


@pytest.mark.parametrize("is_allowed", [True, False])
def test_a_clock_before_the_authoritys_start_is_refused(tmp_path: Path, is_allowed: bool) -> None:
    serving = Serving(pki=tmp_path)
    if is_allowed:
        issue_credentials(serving, EPOCH)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(UnusableCredentials, match=r"says 1970-01-01 00:00:00 UTC.*set it"):
        issue_credentials(serving, datetime(1970, 1, 1, tzinfo=UTC))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_missing_authority_is_made_only_where_none_was_known(tmp_path: Path) -> None:
    serving = Serving(pki=tmp_path)
    first = issue_credentials(serving, EPOCH).authority
    (tmp_path / "ca.crt").unlink()
    assert issue_credentials(serving, EPOCH, first.certificate).authority == first
    (tmp_path / "ca.crt").unlink()  # as when the first start was interrupted
    assert issue_credentials(serving, EPOCH).authority.key == first.key
    (tmp_path / "ca.key").unlink()
    with pytest.raises(UnusableCredentials, match=r"ca\.key of .* is missing"):
        issue_credentials(serving, EPOCH)
    (tmp_path / "ca.crt").unlink()
    with pytest.raises(UnusableCredentials, match="is missing, but the plane had one"):
        issue_credentials(serving, EPOCH, first.certificate)
    request = Serving(pki=tmp_path, replace_keys=True)
    assert issue_credentials(request, EPOCH, first.certificate).authority != first


def test_keys_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "pki"
    issue_credentials(Serving(pki=folder), EPOCH)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {"ca.crt", "ca.key"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.parametrize("content", ["", "nothing", "-----BEGIN SECRET-----"])
@pytest.mark.parametrize("name", ["ca.crt", "ca.key"])
def test_a_damaged_authority_is_reported(tmp_path: Path, name: str, content: str) -> None:
    issue_credentials(Serving(pki=tmp_path), EPOCH)
    (tmp_path / name).write_text(content)
    with pytest.raises(UnusableCredentials, match=r"cannot be read: .*--replace-keys") as caught:
        issue_credentials(Serving(pki=tmp_path), EPOCH)
    assert "SECRET" not in str(caught.value)
    assert (tmp_path / name).read_text() == content


def test_a_key_of_another_certificate_is_reported(tmp_path: Path) -> None:
    issue_credentials(Serving(pki=tmp_path), EPOCH)
    (tmp_path / "ca.key").write_bytes(new_key("ECDSA-P256"))
    with pytest.raises(UnusableCredentials, match="do not belong together"):
        issue_credentials(Serving(pki=tmp_path), EPOCH)


@pytest.mark.parametrize(
    ("host", "named"), [("127.0.0.1", "127.0.0.1"), ("10.0.0.7", "10.0.0.7"), ("kapy.test",) * 2]
)
def test_the_server_is_named_as_it_is_reached(host: str, named: str) -> None:
    credentials = issue_credentials(Serving(host=host), EPOCH)
    assert named in facts(credentials.server.certificate).names


def test_the_administrator_is_a_superuser() -> None:
    result = facts(issue_credentials(Serving(), EPOCH).administrator.certificate)
    assert (result.common_name, result.organizations) == ("kubernetes-admin", ("system:masters",))


@pytest.mark.sockets
async def test_keys_without_data_are_refused_until_the_loss_is_accepted(tmp_path: Path) -> None:
    serving = Serving(port=0, pki=tmp_path / "pki")
    settings = Settings(data=tmp_path / "data", serving=serving)
    first = issue_credentials(serving, EPOCH).authority
    with pytest.raises(DataLost, match=r"store\.db is missing, but .*ca\.key of an earlier run"):
        async with management_plane(settings, clock=loop_clock()):
            pass
    assert not (tmp_path / "data").exists()
    accepted = replace(settings, accept_data_loss=True)
    async with management_plane(accepted, clock=loop_clock()) as plane:
        assert plane.kubeconfig is not None
        assert plane.kubeconfig.certificate_authority == first.certificate
