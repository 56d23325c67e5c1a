"""The goals of performance, each with its published figures.

`python -m benchmarks --goals --publish` measures all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.published import Entries

NOT_PUBLISHED: Final = "not measured yet"


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a step of a scenario. text: how it is printed.

    divisor: another step, by whose figure it is divided.
    """

    scenario: str
    step: str
    key: str
    text: str
    divisor: str = ""

    def printed(self, entries: Entries) -> str:
        """Return the published figure as a text."""
        value = self._value(entries, self.step)
        if value is not None and self.divisor:
            other = self._value(entries, self.divisor)
            value = value / other if other else None
        return NOT_PUBLISHED if value is None else self.text.format(_number(value))

    def _value(self, entries: Entries, step: str) -> float | None:
        rows = entries[self.scenario]["rows"] if self.scenario in entries else []
        spread: Any = next((row.get(self.key) for row in rows if row["step"] == step), None)
        return None if spread is None else float(spread[0])


@dataclass(frozen=True, slots=True)
class Goal:
    """Work, the goal that is set for it, and the figures that tell whether it is reached."""

    work: str
    target: str
    figures: tuple[Figure, ...]

    @property
    def scenarios(self) -> tuple[str, ...]:
        """The scenarios of its figures, each one once."""
        return tuple(dict.fromkeys(figure.scenario for figure in self.figures))

    def dates(self, entries: Entries) -> str:
        """Return the days on which its published figures were measured."""
        days = {entries[name]["date"] for name in self.scenarios if name in entries}
        return ", ".join(sorted(days))


LIFE: Final = "life-10000-2-processes"
CHANGE: Final = "a change among {}"
COMMANDS: Final = "command-line"
GENERATE: Final = "kapy generate cluster c -n default --infrastructure acme:v1.0.0"
HTTPS: Final = "api-server-https"
BY_PROCESSES: Final = "api-server-https-2-api-processes"
WHERE: Final = "HTTPS, disk, 2 API processes"
IN_PROCESS: Final = "api-server-in-process"

GOALS: Final = (
    Goal(
        "10,000 clusters of one control plane machine posted at once, two processes",
        "18 clusters/s, 1,500 MB in all processes, the same requests per cluster as for 1,000",
        (
            Figure(LIFE, "create", "clusters_per_s", "{} clusters/s"),
            Figure(LIFE, "create", "cpu_ms_per_cluster", "{} CPU ms/cluster"),
            Figure(LIFE, "create", "mb", "{} MB"),
            Figure(LIFE, "create", "requests_per_cluster", "{} requests/cluster"),
            Figure("1000x1+0-ecdsa", "create", "requests_per_cluster", "{} for 1,000"),
        ),
    ),
    Goal(
        "clusters with RSA-2048 keys, two processes",
        "10 clusters/s",
        (
            Figure("100x1+0-2-processes", "create", "clusters_per_s", "100 clusters: {}/s"),
            Figure("1000x1+0-2-processes", "create", "clusters_per_s", "1,000 clusters: {}/s"),
        ),
    ),
    Goal(
        "10,000 settled clusters: idle, memory, restart until all caches are synced",
        "0.5 % of a core, 1,200 MB, 20 s",
        (
            Figure(LIFE, "idle", "core_percent", "{} % of a core"),
            Figure(LIFE, "idle", "mb", "{} MB"),
            Figure(LIFE, "restart", "wall_s", "{} s"),
        ),
    ),
    Goal(
        "one cluster changed among 10,000, until its last status",
        "1.5 times the same among 10",
        (
            Figure(
                LIFE,
                CHANGE.format("10,000"),
                "median_s",
                "{} times",
                divisor=CHANGE.format(10),
            ),
        ),
    ),
    Goal(
        "deletion of 10,000 clusters, two processes",
        "30 clusters/s",
        (Figure(LIFE, "delete", "clusters_per_s", "{} clusters/s"),),
    ),
    Goal(
        "a MachineDeployment 3 to 1,000 to 3, rollout of 1,000 at maxSurge 10 % and 1",
        "15, 10, 30, 30 CPU ms/Machine",
        (
            Figure("workers-3-1000-3", "workers 3 to 1000", "cpu_ms_per_machine", "up {}"),
            Figure("workers-3-1000-3", "workers 1000 to 3", "cpu_ms_per_machine", "down {}"),
            Figure("rollout-1000", "1000 replaced, maxSurge 10%", "cpu_ms_per_machine", "10 %: {}"),
            Figure(
                "rollout-1000", "1000 replaced, maxSurge 1", "cpu_ms_per_machine", "1: {} CPU ms"
            ),
        ),
    ),
    Goal(
        "core manager with 1,000 workload clusters",
        "300 MiB with four Machines each, 3 % of a core idle",
        (
            Figure("managers-start-1000", "start of core", "mib", "{} MiB"),
            Figure("managers-1000", "idle", "core_percent", "{} % of a core"),
        ),
    ),
    Goal(
        "start of the core manager to its first reconcile, 1,000 x (1 + 3)",
        "2.5 s",
        (Figure("managers-start-1000", "start of core", "first_reconcile_s", "{} s"),),
    ),
    Goal(
        "requests of a cluster with one control plane machine and three workers",
        "130",
        (Figure("10x1+3-ecdsa", "create", "requests_per_cluster", "{}"),),
    ),
    Goal(
        "first cluster in a new process",
        "0.4 CPU s",
        (Figure("1x1+0-ecdsa", "create", "cpu_s", "{} CPU s"),),
    ),
    Goal(
        "`kapy plan --offline` of the quick-start class, `generate cluster`, `describe`",
        "0.5 s, 0.12 s, 0.2 s",
        (
            Figure(COMMANDS, "kapy plan --offline -f", "wall_s", "plan {} s"),
            Figure(COMMANDS, GENERATE, "wall_s", "generate {} s"),
            Figure(COMMANDS, "kapy describe cluster capybara", "wall_s", "describe {} s"),
        ),
    ),
    Goal(
        "API server over HTTPS, in one process",
        "no goal of its own: it is the default",
        (
            Figure(HTTPS, "GET, HTTPS, disk", "per_s", "GET {}/s"),
            Figure(HTTPS, "CREATE, HTTPS, disk", "per_s", "CREATE {}/s"),
            Figure("api-server-watchers", "1000 watchers of 100 changes", "per_s", "{} events/s"),
        ),
    ),
    Goal(
        "API server over HTTPS, two API processes beside the one that writes",
        "GET 6,000/s and CREATE 1,500/s, 50,000 events/s to 1,000 watchers",
        (
            Figure(BY_PROCESSES, f"GET, {WHERE}", "per_s", "GET {}/s"),
            Figure(BY_PROCESSES, f"GET, {WHERE}", "per_s_own_cores", "{}/s with own cores"),
            Figure(BY_PROCESSES, f"CREATE, {WHERE}", "per_s", "CREATE {}/s"),
            Figure(BY_PROCESSES, f"CREATE, {WHERE}", "per_s_own_cores", "{}/s with own cores"),
            Figure(BY_PROCESSES, f"events to 1000 watchers, {WHERE}", "per_s", "{} events/s"),
        ),
    ),
    Goal(
        "API server in process",
        "GET 10 µs, PATCH 200 µs",
        (
            Figure(IN_PROCESS, "GET, in process, memory", "p50_us", "GET {} µs"),
            Figure(IN_PROCESS, "PATCH, in process, memory", "p50_us", "PATCH {} µs"),
        ),
    ),
    Goal(
        "extension server, in two processes and in one",
        "Discovery 31,700/s, which is Go's, GeneratePatches 5,260/s (with two processes)",
        tuple(
            Figure("extensions", f"{hook}, {where}", "per_s", f"{hook} {{}}/s in {processes}")
            for hook in ("Discovery", "GeneratePatches")
            for where, processes in (("kapy, 2 processes", "two"), ("kapy", "one"))
        )
        + tuple(
            Figure(
                "extensions",
                f"{hook}, kapy, 2 processes",
                "per_s_own_cores",
                f"{hook} {{}}/s in two with cores of their own",
            )
            for hook in ("Discovery", "GeneratePatches")
        ),
    ),
)

SCENARIOS: Final = tuple(dict.fromkeys(name for goal in GOALS for name in goal.scenarios))
"""All scenarios that have a figure of a goal."""


def section(entries: Entries) -> str:
    """Return the section of the page, in Markdown."""
    return "\n".join(_lines(entries)) + "\n"


def _lines(entries: Entries) -> Iterator[str]:
    yield "## Goals"
    yield ""
    yield "`make bench ARGS='--goals --publish'` measures all figures of this table. The life of"
    yield "10,000 clusters takes longest: it can be measured alone"
    yield f"(`{LIFE}`), or left out (`--without 'life-*'`)."
    yield ""
    yield "| work | goal | figure | measured |"
    yield "|---|---|---|---|"
    for goal in GOALS:
        printed = [figure.printed(entries) for figure in goal.figures]
        figures = ", ".join(printed if set(printed) != {NOT_PUBLISHED} else [NOT_PUBLISHED])
        yield f"| {goal.work} | {goal.target} | {figures} | {goal.dates(entries)} |"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
