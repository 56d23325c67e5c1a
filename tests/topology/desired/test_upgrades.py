"""Any upgrade along the versions of a class, with parts that take their time."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from kapy.kube import Document
from kapy.kube.version import parse_tolerant
from kapy.topology.state import ClusterState
from tests.topology.managed import Asked, blueprint, cluster, made, settled, topology, versions

MOST_STEPS = 150
MINORS = range(28, 36)


def minor(version: str) -> int:
    return parse_tolerant(version).minor


@st.composite
def upgrades(draw: st.DrawFn) -> tuple[list[str], str, dict[str, str]]:
    """The versions of a class, the wanted one, and what each part has: workers no more than three
    minor versions behind their control plane."""
    patches = st.lists(st.integers(0, 5), min_size=1, max_size=2, unique=True).map(sorted)
    results = [f"v1.{number}.{patch}" for number in MINORS for patch in draw(patches)]
    start = draw(st.integers(0, len(results) - 1))
    plane = results[start]
    wanted = draw(st.sampled_from(results[start:]))
    behind = [text for text in results[: start + 1] if minor(plane) - minor(text) <= 3]
    workers = {name: draw(st.sampled_from(behind)) for name in ("a", "b", "mp")}
    return results, wanted, {"plane": plane, **workers}


def wants(version: str, most: int) -> Document:
    groups = [{"class": "small", "name": name} for name in "ab"]
    change = topology(version=version, workers={"machineDeployments": groups})
    concurrency = {"topology.cluster.x-k8s.io/upgrade-concurrency": str(most)}
    return {**change, "metadata": {"annotations": concurrency}}


class Machinery:
    """Takes over what is desired and not pending, and gets there after a while."""

    def __init__(self, current: ClusterState, random: Random) -> None:
        self.current = current
        self.random = random
        self.running = versions(current)["plane"]
        self.busy: set[str] = set()

    def take(self, request: Asked, desired: ClusterState) -> None:
        before, after = versions(self.current), versions(desired)
        upgrades = request.upgrades
        pending = upgrades.machine_deployments.pending | upgrades.machine_pools.pending
        for name, called in names(desired).items():
            if called in pending:
                after[name] = before[name]
            elif after[name] != before[name]:
                self.busy.add(name)
        self.busy = {text for text in sorted(self.busy) if self.random.random() < 0.5}
        if self.random.random() < 0.5:
            self.running = after["plane"]
        self.current = settled(desired, **after, running=self.running)
        for name, md in self.current.machine_deployments.items():
            md.is_upgrading = name in self.busy
        for name, mp in self.current.machine_pools.items():
            mp.is_upgrading = name in self.busy


def names(state: ClusterState) -> dict[str, str]:
    """Return the object names of groups of workers, by their names in the topology."""
    results = {name: md.object.metadata.name for name, md in state.machine_deployments.items()}
    return results | {name: mp.object.metadata.name for name, mp in state.machine_pools.items()}


@settings(max_examples=30)
@given(upgrades(), st.integers(1, 3), st.integers(0, 2**32))
async def test_every_upgrade_completes_within_the_version_skew(
    upgrade: tuple[list[str], str, dict[str, str]], most: int, seed: int
) -> None:
    minor_versions, wanted, has = upgrade
    klass: Document = {"spec": {"kubernetesVersions": minor_versions}}
    change = wants(wanted, most)
    current = settled(await made(change), **has)
    machinery, entries = Machinery(current, Random(seed)), [has]
    for _ in range(MOST_STEPS):
        request = Asked(machinery.current)
        desired = await request.state(blueprint(cluster(change), klass))
        assert len(request.upgrades.machine_deployments.upgrading) <= most
        machinery.take(request, desired)
        now = versions(machinery.current)
        if now != entries[-1]:
            entries.append(now)
        if request.upgrades.is_settled and machinery.running == wanted:
            break
    assert set(entries[-1].values()) == {wanted}
    for before, after in pairwise(entries):
        assert minor(after["plane"]) - minor(before["plane"]) <= 1
        for name in ("a", "b", "mp"):
            assert 0 <= minor(after["plane"]) - minor(after[name]) <= 3
    for name in has:
        ways = [entry[name] for entry in entries]
        assert ways == sorted(ways, key=minor_versions.index), "nothing goes back"
