"""Checks of bootstrap providers: the Secret with boot data exists once, with the right content."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.bootstrap import BootstrapConfig
from kapy.kube import Document
from kapy.kube.names import SECRETS
from kapy.testing.conformance.behaviour import every_part, lifecycle, setup
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.fixture import NAME, Fixture

PART: Final = "bootstrap-config"
_VALUE: Final = "value"
_KEYS: Final = {_VALUE, "format"}
"""Keys of the Secret; `format` is what providers of infrastructure read beside it."""
_TOUCH: Final[Document] = {"metadata": {"annotations": {"conformance": "touched"}}}
_NOTHING: Final[Document] = {"status": {"dataSecretName": None, "initialization": None}}
_NAME_FIELD: Final = "status.dataSecretName"


async def data_secret_content(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check label, owner and keys of the Secret, and that its name is the same after recreation."""
    await setup.create_complete(fixture)
    config = await setup.wait_until_done(fixture)
    name = _secret_of(fixture, config)
    secret = await fixture.read(name, SECRETS) if name else None
    if secret is None:
        yield fixture.finding(
            _NAME_FIELD,
            f'it is "{name}", and there is no such Secret beside it',
            "create the Secret, then store its name",
        )
        return
    for finding in _wrong(fixture, config, secret):
        yield finding
    if again := await _name_after_recreation(fixture, name):
        yield fixture.finding(
            _NAME_FIELD,
            f'it was "{name}", and for the same object "{again}" the next time',
            "make the name of the Secret from names, as that of the object itself: a move has to "
            "find it again",
        )


def _wrong(fixture: Fixture, config: Document, secret: Document) -> list[Finding]:
    metadata, name = secret["metadata"], secret["metadata"]["name"]
    result = []
    label = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    if label != fixture.cluster:
        text = f'it is "{label}"' if label else "it is not there"
        remedy = f"label the Secret with the name of the Cluster, here {fixture.cluster}"
        result.append(_fault(fixture, f"metadata.labels[{Label.CLUSTER_NAME}]", text, remedy, name))
    if not _is_owned(config, secret):
        remedy = "set an owner reference to the object, with controller: true"
        text = f"{config['kind']} {config['metadata']['name']} is not its controller"
        result.append(_fault(fixture, "metadata.ownerReferences", text, remedy, name))
    keys = set(secret.get("data") or ())
    if _VALUE not in keys or keys - _KEYS:
        text = f"it has the keys {', '.join(sorted(keys)) or '(none)'}"
        result.append(
            _fault(fixture, "data", text, f"keep the boot data in the key {_VALUE}", name)
        )
    return result


def _fault(fixture: Fixture, field: str, evidence: str, remedy: str, name: str) -> Finding:
    return fixture.finding(field, evidence, remedy, name, SECRETS.kind)


def _is_owned(config: Document, secret: Document) -> bool:
    owners = secret["metadata"].get("ownerReferences") or ()
    uid = config["metadata"]["uid"]
    return any(owner.get("uid") == uid and owner.get("controller") for owner in owners)


async def _name_after_recreation(fixture: Fixture, name: str) -> str:
    """Delete and create the objects again; return the new name of the Secret, "" if it is
    the same.
    """
    for resource in (fixture.kind.resource, Machine.RESOURCE):
        await fixture.delete(NAME, resource)
        if not await fixture.wait_until_gone(NAME, resource):
            raise CannotRun(f"{resource.kind} {NAME} was deleted and does not go")
    await fixture.settle()
    await setup.create_owned(fixture)
    config = await setup.wait_until_done(fixture)
    other = _secret_of(fixture, config)
    return other if other != name else ""


async def data_secret_once(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that boot data is not made again after a move, which drops the status but keeps the
    Secret.
    """
    await setup.create_complete(fixture)
    name = _secret_of(fixture, await setup.wait_until_done(fixture))
    before = await fixture.read(name, SECRETS)
    if before is None:
        raise CannotRun(f'there is no Secret "{name}"')
    spec = {"spec": {"bootstrap": {"dataSecretName": name}}}
    await fixture.patch(spec, NAME, Machine.RESOURCE)
    await fixture.patch(_drop_status(fixture), part="status")
    await fixture.patch(_TOUCH)
    wait = await fixture.wait_for(lambda value: setup.is_done(fixture, value))
    after = await fixture.read(name, SECRETS)
    remedy = "look for the Secret before boot data is made, and only report it where it is there"
    if wait is None:
        yield fixture.finding(
            _NAME_FIELD,
            f"it was lost, as by a move, and does not come back in {fixture.timeouts.within:g} "
            "seconds",
            remedy,
        )
    elif _secret_of(fixture, wait) != name or (after or {}).get("data") != before.get("data"):
        yield fixture.finding(
            _NAME_FIELD, "it was lost, as by a move, and boot data was made a second time", remedy
        )


def _drop_status(fixture: Fixture) -> Document:
    flag = str(BootstrapConfig.data_secret_created.path(fixture.kind.contract))
    return {"status": {**_NOTHING["status"], **({"ready": None} if flag.endswith("ready") else {})}}


async def initialized(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the flag is set after the Secret exists, and stays set."""
    async for finding in lifecycle.initialized(fixture):
        yield finding
    created: set[str] = set()
    for write in fixture.writes():
        if (write.verb, write.plural) == ("create", SECRETS.plural):
            created.add(write.key.name)
        if not setup.writes_to_object([write], fixture) or write.after is None:
            continue
        if setup.is_done(fixture, write.after):
            name = _secret_of(fixture, write.after)
            if fixture.environment.embedded and name not in created:
                yield fixture.finding(
                    str(BootstrapConfig.data_secret_created.path(fixture.kind.contract)),
                    f'it was set before there was a Secret "{name}"',
                    "create the Secret first",
                )
            return


async def restored(fixture: Fixture) -> AsyncIterator[Finding]:
    """Check that the provider restores an owner reference that was removed from the Secret."""
    await setup.create_complete(fixture)
    config = await setup.wait_until_done(fixture)
    name = _secret_of(fixture, config)
    secret = await fixture.read(name, SECRETS)
    if secret is None or not _is_owned(config, secret):
        raise CannotRun(f"{config['kind']} {NAME} is no controller of a Secret")
    await fixture.patch({"metadata": {"ownerReferences": None}}, name, SECRETS)
    await fixture.patch(_TOUCH)
    if await fixture.wait_for(lambda value: _is_owned(config, value), name, SECRETS) is None:
        yield _fault(
            fixture,
            "metadata.ownerReferences",
            f"they were taken away, and did not come back in {fixture.timeouts.within:g} seconds",
            "see to the owner of the Secret each time that the object is looked at",
            name,
        )


def _secret_of(fixture: Fixture, config: Document) -> str:
    return BootstrapConfig(config, fixture.kind.contract).data_secret_name or ""


_OWN: Final = {
    "data-secret-content": data_secret_content,
    "data-secret-once": data_secret_once,
    "initialized": initialized,
    "restored": restored,
}
CHECKS: Final = (
    *(check for check in every_part.checks(PART) if check.name not in _OWN),
    *(Check(f"{PART}/{name}", run) for name, run in _OWN.items()),
)
