"""Tokens in Secrets of type kubernetes.io/service-account-token.

This is kube-controller-manager's tokens controller. It writes the token of the ServiceAccount into
the Secret in the same transaction as the Secret. The token is valid until the Secret or the account
is deleted. A Secret whose account does not exist is deleted.
"""

from __future__ import annotations

import base64
from typing import Final

from kapy.apiserver.auth.authentication import API_AUDIENCES
from kapy.apiserver.auth.tokens import FOREVER, BoundObject, ServiceAccountTokens
from kapy.apiserver.resources.metadata import new_uid
from kapy.apiserver.store.watch_cache import WriteEvent
from kapy.apiserver.verbs.context import ServerContext
from kapy.apiserver.verbs.direct_writes import delete_object, is_latest, update_object
from kapy.kube import Document

TYPE: Final = "kubernetes.io/service-account-token"
_NAME: Final = "kubernetes.io/service-account.name"
_UID: Final = "kubernetes.io/service-account.uid"
_ACCOUNTS: Final = "serviceaccounts"
_SECRETS: Final = "secrets"


class TokenSecretController:
    """Fill and delete the token Secrets of a server for its lifetime.

    authority: PEM of the CA that signed the server's certificate, or "".
    """

    def __init__(self, server: ServerContext, tokens: ServiceAccountTokens, authority: str) -> None:
        self._server = server
        self._tokens = tokens
        self._authority = authority
        server.store.listeners.append(self._on_write)

    def _on_write(self, event: WriteEvent) -> None:
        if event.table == _SECRETS:
            if event.change != "DELETED" and event.document.get("type") == TYPE:
                self._reconcile(event.document)
        elif event.table == _ACCOUNTS and event.change == "DELETED":
            for secret in list(self._server.store.table(_SECRETS).scan(event.namespace)):
                if secret.get("type") == TYPE and _account_of(secret) == event.name:
                    self._reconcile(secret)

    def _reconcile(self, secret: Document) -> None:
        meta = secret["metadata"]
        kind = self._server.registry.find("", "v1", _SECRETS)
        assert kind is not None
        if meta.get("deletionTimestamp") or not is_latest(self._server, kind, secret):
            return
        account = self._account(secret)
        if account is None:
            if not meta.get("finalizers"):
                delete_object(self._server, kind, secret)
            return
        whole = self._fill(secret, account)
        if whole != secret:
            update_object(self._server, kind, secret, whole)

    def _account(self, secret: Document) -> Document | None:
        """Return the Secret's account, None if the account of that name has another uid."""
        meta = secret["metadata"]
        table = self._server.store.table(_ACCOUNTS)
        account = table.latest(meta["namespace"], _account_of(secret))
        uid = (meta.get("annotations") or {}).get(_UID)
        if account is None or (uid and uid != account["metadata"]["uid"]):
            return None
        return account

    def _fill(self, secret: Document, account: Document) -> Document:
        meta, data = secret["metadata"], secret.get("data") or {}
        wanted = {**data, "namespace": _base64(meta["namespace"])}
        if self._authority:
            wanted["ca.crt"] = _base64(self._authority)
        if not data.get("token"):
            wanted["token"] = _base64(self._issue_token(secret, account))
        uid = account["metadata"]["uid"]
        annotations = {**(meta.get("annotations") or {}), _UID: uid}
        return {**secret, "metadata": {**meta, "annotations": annotations}, "data": wanted}

    def _issue_token(self, secret: Document, account: Document) -> str:
        bound = BoundObject("Secret", secret["metadata"]["name"], secret["metadata"]["uid"])
        identity = new_uid(self._server.rng)
        return self._tokens.issue(account, [bound], API_AUDIENCES, FOREVER, identity)


def _account_of(secret: Document) -> str:
    return str((secret["metadata"].get("annotations") or {}).get(_NAME, ""))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
