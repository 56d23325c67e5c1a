"""Credentials of tenants: a provider acts with the account of the cluster's tenant only.

The infrastructure of a cluster refers to the account in `spec.identityRef`. The reference names a
Secret in the same namespace, or an identity. An identity is a cluster-scoped object that lists the
namespaces that may use it, and refers to its Secret:

    spec:
      allowedNamespaces: {list: [team-a], selector: {matchLabels: {tier: gold}}}
      secretRef: {name: paper, namespace: paper-system}

    tenants = TenantCredentials(runtime, PaperCluster.RESOURCE, identity=PaperIdentity.RESOURCE,
                                finalizer="paper.example.dev/credentials",
                                namespace="paper-system")
    add_infra_cluster(runtime, PaperCluster, land, finalizer=…, credentials=tenants)
    add_infra_machine(runtime, PaperMachine, cloud, finalizer=…, credentials=tenants)

Each context then has its `credential`. An object that may not use one is not acted upon, and its
condition CredentialsAvailable has the reason. Keep state between calls in `Sessions`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Generic, NamedTuple, TypeVar

from kapy.conditions import false
from kapy.kube import Document, Key
from kapy.kube.errors import KapyError
from kapy.sdk.results import Waiting

S = TypeVar("S")
CREDENTIALS_AVAILABLE: Final = "CredentialsAvailable"
SECRET: Final = "Secret"
RETRY_INTERVAL: Final = timedelta(seconds=10)
"""The retry interval for a missing Secret: a Secret is only watched once it was used."""


class IdentityReference(NamedTuple):
    """The reference in `spec.identityRef` to a Secret or an identity."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """The credential of a tenant. identity: the source of the credential, such as `Secret
    team-a/paper`, which distinguishes tenants. version: a text that changes with every rotation.
    data: the decoded data of the Secret.
    """

    identity: str
    version: str
    data: Mapping[str, bytes] = field(repr=False)


class CredentialRefused(KapyError):
    """An object gets no credential. reason: the reason for the condition. requeue_after: the time
    until the next attempt; None if all relevant objects are watched.
    """

    def __init__(self, reason: str, message: str, requeue_after: timedelta | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.requeue_after = requeue_after

    @property
    def result(self) -> Waiting:
        """Return the result that takes the place of the provider's, since the provider cannot be
        called.
        """
        condition = false(CREDENTIALS_AVAILABLE, self.reason, str(self))
        return Waiting(message=str(self), requeue_after=self.requeue_after, conditions=[condition])


class Sessions(Generic[S]):
    """One session per identity, opened on first use and after a rotation.

    make: opens a session. close: closes one after a rotation.
    """

    def __init__(
        self,
        make: Callable[[Credential], Awaitable[S]],
        close: Callable[[S], Awaitable[None]] | None = None,
    ) -> None:
        self._make = make
        self._close = close
        self._open: dict[str, tuple[str, S]] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    async def of(self, credential: Credential) -> S:
        """Return the session for a credential; never for another identity or an older version."""
        # One login at a time: a second session could end the first one while it is in use.
        async with self._turns.setdefault(credential.identity, asyncio.Lock()):
            open_session = self._open.get(credential.identity)
            if open_session is not None and open_session[0] == credential.version:
                return open_session[1]
            session = await self._make(credential)
            self._open[credential.identity] = credential.version, session
            if open_session is not None and self._close is not None:
                await self._close(open_session[1])
            return session


def identity_reference(infra: Document) -> IdentityReference | None:
    """Return `spec.identityRef` of a cluster's infrastructure, None if it is not set."""
    ref = (infra.get("spec") or {}).get("identityRef") or {}
    return IdentityReference(ref["kind"], ref["name"]) if ref.get("name") else None


def secret_of_identity(identity: Document, namespace: str) -> Key | None:
    """Return the key of the Secret that an identity refers to. namespace: the default namespace of
    the Secret.
    """
    ref = (identity.get("spec") or {}).get("secretRef") or {}
    return Key(ref.get("namespace") or namespace, ref["name"]) if ref.get("name") else None
