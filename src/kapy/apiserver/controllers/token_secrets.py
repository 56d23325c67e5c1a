"""Tokens in Secrets of type kubernetes.io/service-account-token.

This is kube-controller-manager's tokens controller. It writes the token of the ServiceAccount into
the Secret in the same transaction as the Secret. The token is valid until the Secret or the account
is deleted. A Secret whose account does not exist is deleted.
"""

from __future__ import annotations

import base64
from typing import Final

from kapy.apiserver.audiences import API_AUDIENCES
from kapy.apiserver.controllers.writing import changed, is_latest, removed
from kapy.apiserver.metadata import new_uid
from kapy.apiserver.plane import Plane
from kapy.apiserver.store.history import Happening
from kapy.apiserver.tokens import FOREVER, Bound, ServiceTokens
from kapy.kube import Document

TYPE: Final = "kubernetes.io/service-account-token"
_NAME: Final = "kubernetes.io/service-account.name"
_UID: Final = "kubernetes.io/service-account.uid"
_ACCOUNTS: Final = "serviceaccounts"
_SECRETS: Final = "secrets"


class TokenSecrets:
    """Fill and delete the token Secrets of a server for its lifetime.

    authority: PEM of the CA that signed the server's certificate, or "".
    """

    def __init__(self, plane: Plane, tokens: ServiceTokens, authority: str) -> None:
        self._plane = plane
        self._tokens = tokens
        self._authority = authority
        plane.store.listeners.append(self._noticed)

    def _noticed(self, one: Happening) -> None:
        if one.table == _SECRETS:
            if one.change != "DELETED" and one.document.get("type") == TYPE:
                self._complete(one.document)
        elif one.table == _ACCOUNTS and one.change == "DELETED":
            for secret in list(self._plane.store.table(_SECRETS).scan(one.namespace)):
                if secret.get("type") == TYPE and _account_of(secret) == one.name:
                    self._complete(secret)

    def _complete(self, secret: Document) -> None:
        meta = secret["metadata"]
        kind = self._plane.registry.find("", "v1", _SECRETS)
        assert kind is not None
        if meta.get("deletionTimestamp") or not is_latest(self._plane, kind, secret):
            return
        account = self._account(secret)
        if account is None:
            if not meta.get("finalizers"):
                removed(self._plane, kind, secret)
            return
        whole = self._with_token(secret, account)
        if whole != secret:
            changed(self._plane, kind, secret, whole)

    def _account(self, secret: Document) -> Document | None:
        """Return the Secret's account, None if the account of that name has another uid."""
        meta = secret["metadata"]
        table = self._plane.store.table(_ACCOUNTS)
        account = table.latest(meta["namespace"], _account_of(secret))
        uid = (meta.get("annotations") or {}).get(_UID)
        if account is None or (uid and uid != account["metadata"]["uid"]):
            return None
        return account

    def _with_token(self, secret: Document, account: Document) -> Document:
        meta, data = secret["metadata"], secret.get("data") or {}
        wanted = {**data, "namespace": _encoded(meta["namespace"])}
        if self._authority:
            wanted["ca.crt"] = _encoded(self._authority)
        if not data.get("token"):
            wanted["token"] = _encoded(self._token(secret, account))
        uid = account["metadata"]["uid"]
        annotations = {**(meta.get("annotations") or {}), _UID: uid}
        return {**secret, "metadata": {**meta, "annotations": annotations}, "data": wanted}

    def _token(self, secret: Document, account: Document) -> str:
        bound = Bound("Secret", secret["metadata"]["name"], secret["metadata"]["uid"])
        identity = new_uid(self._plane.rng)
        return self._tokens.issue(account, [bound], API_AUDIENCES, FOREVER, identity)


def _account_of(secret: Document) -> str:
    return str((secret["metadata"].get("annotations") or {}).get(_NAME, ""))


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
