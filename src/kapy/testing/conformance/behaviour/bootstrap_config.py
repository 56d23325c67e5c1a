"""What bootstrap providers are asked for: Secrets with boot data, made once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from kapy.api.machine import Machine
from kapy.api.names import Label
from kapy.contract.bootstrap import BootstrapConfig
from kapy.kube import Document
from kapy.kube.names import SECRETS
from kapy.testing.conformance.behaviour import every_part, flags, stage
from kapy.testing.conformance.behaviour.check import Check
from kapy.testing.conformance.errors import CannotRun
from kapy.testing.conformance.findings import Finding
from kapy.testing.conformance.scene import NAME, Scene

PART: Final = "bootstrap-config"
_VALUE: Final = "value"
_KEYS: Final = {_VALUE, "format"}
"""Keys of the Secret; `format` is what providers of infrastructure read beside it."""
_TOUCH: Final[Document] = {"metadata": {"annotations": {"conformance": "touched"}}}
_NOTHING: Final[Document] = {"status": {"dataSecretName": None, "initialization": None}}
_NAME_FIELD: Final = "status.dataSecretName"


async def data_secret_content(scene: Scene) -> AsyncIterator[Finding]:
    """The Secret's label, owner and keys; and its name, when all begins anew."""
    await stage.whole(scene)
    config = await stage.done(scene)
    name = _secret_of(scene, config)
    secret = await scene.read(name, SECRETS) if name else None
    if secret is None:
        yield scene.fault(
            _NAME_FIELD,
            f'it is "{name}", and there is no such Secret beside it',
            "create the Secret, then store its name",
        )
        return
    for finding in _wrong(scene, config, secret):
        yield finding
    if again := await _again(scene, name):
        yield scene.fault(
            _NAME_FIELD,
            f'it was "{name}", and for the same object "{again}" the next time',
            "make the name of the Secret from names, as that of the object itself: a move has to "
            "find it again",
        )


def _wrong(scene: Scene, config: Document, secret: Document) -> list[Finding]:
    metadata, name = secret["metadata"], secret["metadata"]["name"]
    found = []
    label = (metadata.get("labels") or {}).get(Label.CLUSTER_NAME)
    if label != scene.cluster:
        told = f'it is "{label}"' if label else "it is not there"
        mend = f"label the Secret with the name of the Cluster, here {scene.cluster}"
        found.append(_fault(scene, f"metadata.labels[{Label.CLUSTER_NAME}]", told, mend, name))
    if not _is_owned(config, secret):
        mend = "set an owner reference to the object, with controller: true"
        told = f"{config['kind']} {config['metadata']['name']} is not its controller"
        found.append(_fault(scene, "metadata.ownerReferences", told, mend, name))
    keys = set(secret.get("data") or ())
    if _VALUE not in keys or keys - _KEYS:
        told = f"it has the keys {', '.join(sorted(keys)) or '(none)'}"
        found.append(_fault(scene, "data", told, f"keep the boot data in the key {_VALUE}", name))
    return found


def _fault(scene: Scene, field: str, evidence: str, mend: str, name: str) -> Finding:
    return scene.fault(field, evidence, mend, name, SECRETS.kind)


def _is_owned(config: Document, secret: Document) -> bool:
    owners = secret["metadata"].get("ownerReferences") or ()
    uid = config["metadata"]["uid"]
    return any(one.get("uid") == uid and one.get("controller") for one in owners)


async def _again(scene: Scene, name: str) -> str:
    """What the Secret is called when the same objects are made once more; "" if the same."""
    for resource in (scene.kind.resource, Machine.RESOURCE):
        await scene.delete(NAME, resource)
        if not await scene.gone(NAME, resource):
            raise CannotRun(f"{resource.kind} {NAME} was deleted and does not go")
    await scene.quiet()
    await stage.owned(scene)
    config = await stage.done(scene)
    other = _secret_of(scene, config)
    return other if other != name else ""


async def data_secret_once(scene: Scene) -> AsyncIterator[Finding]:
    """As after a move: the object has lost its status, the Secret and its Machine are there."""
    await stage.whole(scene)
    name = _secret_of(scene, await stage.done(scene))
    before = await scene.read(name, SECRETS)
    if before is None:
        raise CannotRun(f'there is no Secret "{name}"')
    spec = {"spec": {"bootstrap": {"dataSecretName": name}}}
    await scene.patch(spec, NAME, Machine.RESOURCE)
    await scene.patch(_lost(scene), part="status")
    await scene.patch(_TOUCH)
    found = await scene.reached(lambda one: stage.is_done(scene, one))
    after = await scene.read(name, SECRETS)
    mend = "look for the Secret before boot data is made, and only report it where it is there"
    if found is None:
        yield scene.fault(
            _NAME_FIELD,
            f"it was lost, as by a move, and does not come back in {scene.patience.within:g} "
            "seconds",
            mend,
        )
    elif _secret_of(scene, found) != name or (after or {}).get("data") != before.get("data"):
        yield scene.fault(
            _NAME_FIELD, "it was lost, as by a move, and boot data was made a second time", mend
        )


def _lost(scene: Scene) -> Document:
    flag = str(BootstrapConfig.data_secret_created.path(scene.kind.contract))
    return {"status": {**_NOTHING["status"], **({"ready": None} if flag.endswith("ready") else {})}}


async def initialized(scene: Scene) -> AsyncIterator[Finding]:
    """The flag comes after the Secret, and stays."""
    async for finding in flags.initialized(scene):
        yield finding
    created: set[str] = set()
    for write in scene.writes():
        if (write.verb, write.plural) == ("create", SECRETS.plural):
            created.add(write.key.name)
        if not stage.to_object([write], scene) or write.after is None:
            continue
        if stage.is_done(scene, write.after):
            name = _secret_of(scene, write.after)
            if scene.ground.embedded and name not in created:
                yield scene.fault(
                    str(BootstrapConfig.data_secret_created.path(scene.kind.contract)),
                    f'it was set before there was a Secret "{name}"',
                    "create the Secret first",
                )
            return


async def restored(scene: Scene) -> AsyncIterator[Finding]:
    """The Secret gets an owner back that it lost."""
    await stage.whole(scene)
    config = await stage.done(scene)
    name = _secret_of(scene, config)
    secret = await scene.read(name, SECRETS)
    if secret is None or not _is_owned(config, secret):
        raise CannotRun(f"{config['kind']} {NAME} is no controller of a Secret")
    await scene.patch({"metadata": {"ownerReferences": None}}, name, SECRETS)
    await scene.patch(_TOUCH)
    if await scene.reached(lambda one: _is_owned(config, one), name, SECRETS) is None:
        yield _fault(
            scene,
            "metadata.ownerReferences",
            f"they were taken away, and did not come back in {scene.patience.within:g} seconds",
            "see to the owner of the Secret each time that the object is looked at",
            name,
        )


def _secret_of(scene: Scene, config: Document) -> str:
    return BootstrapConfig(config, scene.kind.contract).data_secret_name or ""


_OWN: Final = {
    "data-secret-content": data_secret_content,
    "data-secret-once": data_secret_once,
    "initialized": initialized,
    "restored": restored,
}
CHECKS: Final = (
    *(one for one in every_part.checks(PART) if one.name not in _OWN),
    *(Check(f"{PART}/{name}", look) for name, look in _OWN.items()),
)
