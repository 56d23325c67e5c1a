"""Checks of the Secrets that control plane providers keep for a cluster: kubeconfig and
certificates.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, Final

from kapy.api.names import Label
from kapy.client.kubeconfig import KubeconfigError, parse
from kapy.kube import Document
from kapy.kube.names import SECRETS
from kapy.kube.pki import Facts, InvalidPem, KeyPair, facts, issue
from kapy.kube.yaml import YamlError, dump, load
from kapy.remote.secrets import (
    CERTIFICATE,
    CLUSTER_CA,
    ETCD_CA,
    FRONT_PROXY_CA,
    KUBECONFIG,
    KUBECONFIG_VALUE,
    PRIVATE_KEY,
    SECRET_TYPE,
    SERVICE_ACCOUNT,
    secret_name,
)
from kapy.testing.conformance.behaviour import setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun, NotApplicable
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture

_LONGEST: Final = timedelta(days=400)
"""A year, which the contract has for an example, and some days."""
_SHORT: Final = timedelta(hours=1)
_DATA: Final = "client-certificate-data"
_TOUCH: Final[Document] = {"metadata": {"annotations": {"conformance": "touched"}}}


async def kubeconfig(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check name, type, label and content of the Secret once the control plane is initialized."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    name = secret_name(NAME, KUBECONFIG)
    secret = await fixture.read(name, SECRETS)
    if secret is None:
        remedy = "create it beside the Cluster before the control plane is said to be initialized"
        yield _fault(fixture, name, "", "there is no such Secret", remedy)
        return
    for finding in _shape_violations(fixture, secret):
        yield finding
    value = (secret.get("data") or {}).get(KUBECONFIG_VALUE)
    try:
        parse(_text(value))
    except (KubeconfigError, NotBase64):
        evidence = "it is no kubeconfig" if value else "it is not there"
        remedy = "keep the kubeconfig in this key"
        yield _fault(fixture, name, f"data.{KUBECONFIG_VALUE}", evidence, remedy)


async def certificates(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check type and label of the Secrets with certificates."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    names = [
        secret_name(NAME, item) for item in (CLUSTER_CA, ETCD_CA, FRONT_PROXY_CA, SERVICE_ACCOUNT)
    ]
    there = [value for name in names if (value := await fixture.read(name, SECRETS)) is not None]
    if not there:
        raise NotApplicable("the provider keeps no certificates")
    for secret in there:
        for finding in _shape_violations(fixture, secret):
            yield finding


def _shape_violations(fixture: Fixture, secret: Document) -> list[Finding]:
    name, violations = secret["metadata"]["name"], []
    if secret.get("type") != SECRET_TYPE:
        remedy = f"create it with the type {SECRET_TYPE}"
        violations.append(_fault(fixture, name, "type", f'it is "{secret.get("type")}"', remedy))
    label = (secret["metadata"].get("labels") or {}).get(Label.CLUSTER_NAME)
    if label != NAME:
        evidence = "it is not there" if label is None else f'it is "{label}"'
        remedy = f"label it with the name of the Cluster, here {NAME}: core sees no others"
        violations.append(
            _fault(fixture, name, f"metadata.labels[{Label.CLUSTER_NAME}]", evidence, remedy)
        )
    return violations


async def renewal(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that client certificates are short-lived and are renewed before they expire."""
    await setup.create_complete(fixture)
    await setup.wait_until_done(fixture)
    name = secret_name(NAME, KUBECONFIG)
    secret = await fixture.read(name, SECRETS)
    if secret is None:
        raise CannotRun(f"there is no Secret {name}")
    before = _certificate(secret)
    if before is None:
        raise NotApplicable("the kubeconfig has no client certificate")
    life = before.not_after - before.not_before
    if life > _LONGEST:
        remedy = "make certificates for a year at most, and renew them at half of their life"
        evidence = f"its client certificate is valid for {life.days} days"
        yield _fault(fixture, name, f"data.{KUBECONFIG_VALUE}", evidence, remedy)
        return
    authority = await fixture.read(secret_name(NAME, CLUSTER_CA), SECRETS)
    if authority is None:
        raise CannotRun("without the Secret of the cluster's CA nobody can make an old certificate")
    old = _with_expiring_certificate(fixture, secret, authority)
    await fixture.patch({"data": old}, name, SECRETS)
    await fixture.patch(_TOUCH)
    fresh = await fixture.wait_for(lambda value: _is_current(fixture, value), name, SECRETS)
    if fresh is None:
        evidence = f"its client certificate was one for {_SHORT}, and was not replaced"
        remedy = "compare its end with the time, each time that the object is looked at"
        yield _fault(fixture, name, f"data.{KUBECONFIG_VALUE}", evidence, remedy)


def _is_current(fixture: Fixture, secret: Document) -> bool:
    result = _certificate(secret)
    return result is not None and result.not_after > fixture.environment.clock() + 2 * _SHORT


def _with_expiring_certificate(
    fixture: Fixture, secret: Document, authority: Document
) -> dict[str, str]:
    """Return the kubeconfig with a client certificate that expires soon."""
    try:
        pair = KeyPair(*(b64decode(authority["data"][key]) for key in (CERTIFICATE, PRIVATE_KEY)))
        key_pair = issue(
            pair,
            "kubernetes-admin",
            now=fixture.environment.clock(),
            organizations=["system:masters"],
            valid=_SHORT,
            algorithm="ECDSA-P256",
        )
        config = load(_text(secret["data"][KUBECONFIG_VALUE]))
    except (InvalidPem, YamlError, KeyError, NotBase64) as error:
        raise CannotRun(f"no certificate can be made with the cluster's CA: {error}") from None
    user = {
        _DATA: b64encode(key_pair.certificate).decode(),
        "client-key-data": b64encode(key_pair.key).decode(),
    }
    for item in config["users"]:
        item["user"] = {**item["user"], **user}
    return {KUBECONFIG_VALUE: b64encode(dump(config).encode()).decode()}


def _certificate(secret: Document) -> Facts | None:
    """Return the facts of the first client certificate of a kubeconfig."""
    try:
        config: Any = load(_text((secret.get("data") or {}).get(KUBECONFIG_VALUE)))
        user = config["users"][0]["user"]
        return facts(b64decode(user[_DATA])) if _DATA in user else None
    except (YamlError, KeyError, IndexError, TypeError, NotBase64, InvalidPem):
        return None


def _text(value: str | None) -> str:
    return b64decode(value or "").decode("utf-8", "replace")


def _fault(fixture: Fixture, name: str, field: str, evidence: str, remedy: str) -> Finding:
    return fixture.finding(field, evidence, remedy, name, SECRETS.kind)


CHECKS: Final = (
    Check("control-plane/kubeconfig", kubeconfig),
    Check("control-plane/kubeconfig-renewal", renewal),
    Check("control-plane/certificates", certificates),
)
