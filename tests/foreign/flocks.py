"""An operator as people write them with kopf, to be run against a plane: `kopf run flocks.py`.

It counts the animals of each Flock in its status, and remembers a Flock that goes in a ConfigMap.
"""

from __future__ import annotations

from typing import Any

import kopf
from kubernetes import client, config

GROUP, VERSION, PLURAL = "example.dev", "v1", "flocks"


@kopf.on.startup()
def connect(**_: Any) -> None:
    config.load_kube_config()


@kopf.on.create(GROUP, VERSION, PLURAL)
def made(spec: kopf.Spec, patch: kopf.Patch, body: kopf.Body, **_: Any) -> dict[str, Any]:
    patch.status["animals"] = len(spec.get("animals", ()))
    kopf.info(body, reason="Made", message="the flock is made")
    return {"first": patch.status["animals"]}


@kopf.on.update(GROUP, VERSION, PLURAL, field="spec.animals")
def counted(new: Any, patch: kopf.Patch, **_: Any) -> None:
    patch.status["animals"] = len(new)


@kopf.on.delete(GROUP, VERSION, PLURAL)
def remembered(name: Any, namespace: Any, spec: kopf.Spec, **_: Any) -> None:
    meta = client.V1ObjectMeta(name=f"{name}-was")
    data = {"animals": ",".join(spec.get("animals", ()))}
    body = client.V1ConfigMap(metadata=meta, data=data)
    client.CoreV1Api().create_namespaced_config_map(namespace, body)
