"""Seeds that found something, or that reach far: each must pass for ever."""

from __future__ import annotations

from typing import Final, NamedTuple

from kapy.testing.simulation import SCENARIOS, Fault, Outcome, parse_faults, play


class Entry(NamedTuple):
    """One run. why: what it found, or what it reaches."""

    scenario: str
    seed: int
    text: str
    why: str

    @property
    def faults(self) -> tuple[Fault, ...]:
        return parse_faults(self.text)

    def __str__(self) -> str:
        return f"{self.scenario}-{self.seed}-{self.text or 'none'}"

    def play(self) -> Outcome:
        return play(SCENARIOS[self.scenario], self.seed, self.faults)


CORPUS: Final = (
    Entry("delete-machines", 0, "", "two deletions waited for each other"),
    Entry(
        "heal-control-plane",
        0,
        "crash-after@control-plane:w4",
        "a remediation whose mark was not written",
    ),
    Entry("create", 0, "late@core:w24", "a clone that came late was left behind"),
    Entry(
        "restart",
        0,
        "stale@bootstrap:e45",
        "the boot data of a former Machine of the same name was taken for that of the new one",
    ),
    Entry("scale-workers", 0, "late@core:w12", "a write that comes after its decision is old"),
    Entry(
        "heal-control-plane",
        0,
        "clock-ahead@core:w1",
        "each new Machine was too old by the clock of the manager's machine",
    ),
    Entry("grow-and-heal", 0, "workload-behind@core:k1", "a Node failed at once by its clock"),
    Entry("create", 0, "restored@core:r7", "a Machine was created twice after a restore"),
    Entry(
        "heal-control-plane",
        0,
        "restored@core:w1",
        "a restored API server looked as if every object had been deleted",
    ),
    Entry("create", 0, "restored@control-plane:r3", "a Secret was hidden after a restore"),
    Entry(
        "move",
        0,
        "crash-after@mover:w20,lost-reply@mover:w60,crash-before@mover:w84,stale@core:e9",
        "a move that is resumed twice",
    ),
    Entry("delete-machines", 4061, "", "a new Machine has the name of a deleted one"),
    Entry("leaders", 0, "stopped@core:w40", "a write that was begun before the lease was lost"),
    Entry(
        "scale-control-plane",
        0,
        "backup-restored@control-plane:w18",
        "a new Machine found the machine of a lost one, whose etcd member had been removed",
    ),
    Entry(
        "scale-control-plane",
        0,
        "backup-restored@core:w54",
        "a Machine is back after its etcd member was removed",
    ),
    Entry(
        "pool",
        0,
        "lost-reply@infrastructure:w12,stale@infrastructure:e40",
        "a machine of a pool whose creation is not known yet has a name",
    ),
    Entry(
        "leaders",
        20062,
        "restored@core:w3",
        "a candidate took the Lease of a leader whose renewals had lower versions",
    ),
    Entry(
        "grow-and-heal",
        20570,
        "workload-ahead@control-plane:k95",
        "a Node that failed by a clock that had jumped was given up an hour later",
    ),
    Entry(
        "docker-scale",
        0,
        "cloud-failed@infrastructure:c15",
        "an error of the engine ended the boot of a machine for good",
    ),
    Entry(
        "docker-scale",
        0,
        "cloud-half-failed@infrastructure:c15",
        "a command of the boot data was carried out, and the engine reported an error",
    ),
    Entry(
        "grow-and-heal",
        20297,
        "workload-restored@core:k1,clock-behind@core:w19",
        "a step of the clock was undone twice, and no reconcile succeeded for an hour",
    ),
    Entry(
        "outage",
        20061,
        "clock-ahead@core:w19,candidate-behind@core:w37,storage-full@core:w17",
        "the recovery of a Machine could not be written, and counted as a failure in the rule",
    ),
    Entry(
        "scale-control-plane",
        20166,
        "gap@infrastructure:e25,backup-restored@core:w42",
        "a Machine was back whose control plane was to shrink at the same time",
    ),
    Entry(
        "create-class",
        0,
        "stale@infrastructure:e1",
        "a Cluster that was seen before its reference to its infrastructure did not wake it",
    ),
    Entry(
        "service-create",
        2611346,
        "backup-restored@bootstrap:w3",
        "the simulated service kept the control plane of an object that a restore had lost",
    ),
    Entry(
        "in-place-control-plane",
        2611380,
        "workload-down@bootstrap:k1,backup-restored@control-plane:w42",
        "watches that failed for one reason ended each other's pauses, a list each time",
    ),
    Entry(
        "change-class",
        2611525,
        "workload-down@bootstrap:k1,cloud-down@infrastructure:c2,late@core:w42",
        "a Machine failed just before another was deleted, and the rule asked for foresight",
    ),
    Entry(
        "hooks-upgrade",
        2611335,
        "hook-nonsense@core:h3,lost-request@core:r2,second-leader@core:w37,"
        "candidate-behind@control-plane:w12",
        "two leaders made a Machine each, and one deleted the bootstrap config of the other's",
    ),
)
