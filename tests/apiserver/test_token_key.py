"""The key that signs tokens: never replaced unless somebody asks for that."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from kapy._aio.clock import loop_clock
from kapy.apiserver.auth.authentication import API_AUDIENCES
from kapy.apiserver.auth.tokens import (
    FOREVER,
    KEY_FILE,
    ServiceAccountTokens,
    ServiceTokenError,
    UnusableKey,
)
from kapy.apiserver.store.store import Store
from kapy.kube import Document

ACCOUNT: Document = {"metadata": {"namespace": "default", "name": "a", "uid": "u"}}


def tokens(store: Store, directory: Path) -> ServiceAccountTokens:
    return ServiceAccountTokens(store, loop_clock(), directory)


def issued(by: ServiceAccountTokens) -> str:
    return by.issue(ACCOUNT, (), API_AUDIENCES, 3600, "id")


def name_of(by: ServiceAccountTokens, token: str) -> str:
    identity = by.identity(token)
    return "" if identity is None else identity.user.name


async def test_a_key_is_generated_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path)
    tokens(store, tmp_path).check_key()
    assert not (tmp_path / KEY_FILE).exists()  # it is made when it is needed
    first = tokens(store, tmp_path)
    issued(first)
    again = tokens(store, tmp_path)
    again.check_key()
    assert again.keys() == first.keys()
    store.close()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "is missing, which signed the tokens"),
        ("", "is no private key"),
        ("-----BEGIN SECRET-----", "is no private key"),
    ],
)
async def test_a_missing_or_damaged_key_is_refused_until_a_new_one_is_requested(
    tmp_path: Path, content: str | None, says: str
) -> None:
    store = Store.open(tmp_path)
    first = tokens(store, tmp_path)
    issued(first)
    if content is None:
        (tmp_path / KEY_FILE).unlink()
    else:
        (tmp_path / KEY_FILE).write_text(content)
    store.close()
    store = Store.open(tmp_path)
    for use in (ServiceAccountTokens.check_key, issued):
        with pytest.raises(UnusableKey, match=says) as refused:
            use(tokens(store, tmp_path))
        assert "kapy up --replace-keys" in str(refused.value)
        assert "SECRET" not in str(refused.value)
    new = tokens(store, tmp_path)
    new.check_key(replace=True)
    assert new.keys() != first.keys()
    tokens(store, tmp_path).check_key()
    store.close()


@pytest.mark.parametrize(("seconds", "counts"), [(3600, False), (FOREVER, True)])
async def test_a_token_of_a_fast_clock_is_valid_from_its_time_on(
    seconds: int, counts: bool
) -> None:
    """One that ends comes to count with its clock; one of a Secret counts always."""
    store, clock = Store(), loop_clock()
    accounts = store.table("serviceaccounts")
    store.put(accounts, "default", "a", {"metadata": dict(ACCOUNT["metadata"])})
    ahead = timedelta(days=3285)
    account_tokens = ServiceAccountTokens(store, lambda: clock() + ahead, None)
    token = account_tokens.issue(ACCOUNT, (), API_AUDIENCES, seconds, "id")
    assert name_of(account_tokens, token) == "system:serviceaccount:default:a"
    ahead = timedelta()
    if counts:
        assert name_of(account_tokens, token) == "system:serviceaccount:default:a"
    else:
        with pytest.raises(ServiceTokenError, match="service account token is not valid yet"):
            account_tokens.identity(token)
