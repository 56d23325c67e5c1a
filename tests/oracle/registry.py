"""The topics that can be replayed, each imported only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from tests.oracle.topic import Result, replayed

PURE: Final[Mapping[str, str]] = {
    "cloudinit": "tests.providers.kubeadm.recorded",
    "conditions": "tests.conditions.recorded",
    "crdnames": "tests.oracle.crdnames",
    "envsubst": "tests.oracle.envsubst",
    "failuredomains": "tests.oracle.failuredomains",
    "hooks": "tests.oracle.hooks",
    "inlinepatches": "tests.topology.recorded_patches",
    "kubeconfig": "tests.oracle.kubeconfig",
    "labels": "tests.oracle.labels",
    "rollout": "tests.oracle.rollout",
    "version": "tests.oracle.version",
}
"""Topics of pure functions: the module of each has FILES."""

OWN: Final[Mapping[str, str]] = {
    "admission": "tests.oracle.admission",
    "conversion": "tests.oracle.conversion",
    "extension": "tests.oracle.extension",
    "gotemplate": "tests.topology.recorded_templates",
    "traces": "tests.oracle.traces",
    "variables": "tests.oracle.variables",
}
"""Topics that are replayed in a way of their own: the module of each has `play`."""


def known(topic: str) -> bool:
    """Whether a topic (`crdnames`, `apiserver`, `apiserver/crud` …) can be replayed."""
    return topic in PURE or topic in OWN or topic.partition("/")[0] in ("apiserver", "clusterctl")


def play(topic: str, folder: Path) -> Iterator[tuple[str, list[Result]]]:
    """The results of a topic by sub-topic (a pure topic has one, itself)."""
    if topic in PURE:
        yield topic, list(replayed(import_module(PURE[topic]).FILES, folder))
        return
    if topic in OWN:
        yield topic, list(import_module(OWN[topic]).play(folder))
        return
    from tests.oracle import apiserver, clusterctl

    name, _, sub = topic.partition("/")
    if name == "clusterctl":
        yield from clusterctl.replay(folder, [sub] if sub else ()).items()
        return
    yield from apiserver.replay(folder, [sub] if sub else ()).items()
