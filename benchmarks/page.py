"""The page of the published figures, `docs/reference/benchmarks.md`, and its plots.

`python -m benchmarks.page` prints both anew from `docs/reference/benchmarks.json`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks import goals, published
from benchmarks.machine_load import QUIET_PERCENT
from benchmarks.published import FIGURES, ROOT, Entries
from benchmarks.report import DETAILS
from benchmarks.upstream import figures

PAGE: Final = FIGURES.with_suffix(".md")
PLOTS: Final[Mapping[str, tuple[str, str]]] = {
    "wall_s": ("time", "seconds until all clusters are Available"),
    "cpu_s": ("cpu", "CPU seconds"),
    "requests_total": ("requests", "requests"),
    "peak_mb": ("memory", "memory at most, MB"),
}
"""By figure of the step `create`: the name of its plot, and the title of its axis."""
_CLUSTERS: Final = (1, 10, 100, 1000, 10_000)
"""Numbers of clusters below the plots."""
_COLUMNS: Final[Mapping[str, str]] = {
    "wall_s": "time, s",
    "cpu_s": "CPU, s",
    "requests_total": "requests",
    "per_s": "per s",
}
_INTRODUCTION: Final = """# Benchmarks

The scenarios of `make bench` measured these figures; [Performance](performance.md) explains them.
To measure a scenario again and to print this page anew, type
`make bench ARGS='--publish --repeat 3 100x1+0-ecdsa'`. A scenario's name has the number of
clusters, and of the control plane machines and workers of each: `100x1+3` is 100 clusters with one
control plane machine and three workers, posted at once.

A figure is the median of the runs; the lowest and the highest follow in brackets where they differ.
*Upstream* is Cluster API v1.14.0 on a similar machine (`tests/data/upstream-baseline.jsonl`).
To reproduce it: start kube-apiserver v1.36.3 and etcd v3.6 (`--unsafe-no-fsync`) as processes, and
upstream's four managers with their released flags, CRDs and webhooks; answer `/info` at the socket
of `DOCKER_HOST`; create the clusters of its in-memory ClusterClass with all delays set to zero, and
take times from a watch and CPU seconds from /proc. `python -m tests.real.migration.upstream` builds
and starts these parts.
"""


def page(entries: Entries) -> str:
    """Return the whole page."""
    parts = [_INTRODUCTION, goals.section(entries), _plots(entries)]
    parts += [_section(name, item) for name, item in sorted(entries.items(), key=_order)]
    return "\n".join(part for part in parts if part)


def _order(item: tuple[str, Any]) -> tuple[Any, ...]:
    """Return a key that sorts scenarios of clusters by their shape and then by their number."""
    number, shape = _clusters(item[0])
    return (1, shape, number) if number else (0, item[0], 0)


def _clusters(scenario: str) -> tuple[int, str]:
    """Return the number of clusters of a scenario and their shape, (0, "") for other scenarios."""
    number, _, shape = scenario.partition("x")
    return (int(number), shape) if number.isdigit() else (0, "")


def _plots(entries: Entries) -> str:
    if not growth(entries):
        return ""
    pictures = (
        f"![{title} by the number of clusters](../images/benchmarks-{name}.svg)\n"
        for name, title in PLOTS.values()
    )
    return "## By the number of clusters\n\n" + "\n".join(pictures)


def _section(name: str, item: Mapping[str, Any]) -> str:
    lines = [f"## {name}", "", _circumstances(item), ""]
    columns = [key for key in _COLUMNS if any(key in row for row in item["rows"])]
    upstream = {row["step"]: figures(name, row["step"]) for row in item["rows"]}
    head = ["step"]
    for key in columns:
        head.append(_COLUMNS[key])
        if any(key in row for row in upstream.values()):
            head.append("upstream")
    lines += [f"| {' | '.join(head)} | more |", f"|---|{'--:|' * (len(head) - 1)}---|"]
    for row in item["rows"]:
        cells = [row["step"]]
        for key in columns:
            cells.append(_figure(row.get(key)))
            if any(key in other for other in upstream.values()):
                cells.append(_number(upstream[row["step"]].get(key)))
        lines.append(f"| {' | '.join(cells)} | {', '.join(_details(row))} |")
    return "\n".join(lines) + "\n"


def _circumstances(item: Mapping[str, Any]) -> str:
    machine = item["machine"]
    shares = [run["other_percent"] for run in item["runs"]]
    measured = [share for share in shares if share is not None]
    count = f"{len(shares)} run{'s' if len(shares) > 1 else ''}"
    if not measured:
        other = "how much other work the machine had is not known"
    elif max(measured) > QUIET_PERCENT:
        other = f"**the machine was not quiet**: other work took up to {max(measured):g} % of it"
    else:
        other = f"other work took at most {max(measured):g} % of the machine"
    return (
        f"{item['date']}, commit {item['commit'] or 'unknown'}, {count}; {machine['cores']} cores "
        f"({machine['processor']}), {machine['memory_gib']} GiB, Python {machine['python']}, "
        f"{machine['system']}; {other}."
    )


def _details(row: Mapping[str, Any]) -> Iterator[str]:
    for key, text in DETAILS.items():
        if key in row:
            yield text.format(_figure(row[key]))


def _figure(spread: list[float] | None) -> str:
    """Return the median, with lowest and highest in brackets if they look different."""
    if spread is None:
        return ""
    middle, low, high = map(_number, spread)
    return middle if low == high else f"{middle} ({low} to {high})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def growth(entries: Entries) -> dict[str, dict[str, list[tuple[int, float]]]]:
    """Return the points of each plot: by figure and shape, (clusters, median) of `create`."""
    points: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for name, item in sorted(entries.items(), key=_order):
        number, shape = _clusters(name)
        rows = [row for row in item["rows"] if row["step"] == "create"]
        if not number or not rows:
            continue
        for key in PLOTS:
            if key in rows[0]:
                value = rows[0][key][0]
                points.setdefault(key, {}).setdefault(shape, []).append((number, value))
    return points


def draw(entries: Entries, folder: Path) -> None:
    """Draw a plot of each figure against the number of clusters. Needs pygal."""
    import pygal
    from pygal.style import CleanStyle

    for key, lines in growth(entries).items():
        name, title = PLOTS[key]
        chart: Any = pygal.XY(
            title=title,
            x_title="clusters posted at once",
            logarithmic=True,
            xrange=(_CLUSTERS[0], _CLUSTERS[-1]),
            style=CleanStyle,
            js=(),
            no_prefix=True,
            disable_xml_declaration=True,
            x_labels=_CLUSTERS,
            y_labels=_decades([value for points in lines.values() for _, value in points]),
            x_value_formatter=_number,
            value_formatter=_number,
            truncate_label=-1,
        )
        for shape, points in lines.items():
            if len(points) > 1:
                chart.add(shape, points)
        (folder / f"benchmarks-{name}.svg").write_text(chart.render(is_unicode=True) + "\n")


def _decades(values: list[float]) -> list[float]:
    """Return the powers of ten around all values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10.0**power for power in range(low, high + 1)]


def write(entries: Entries) -> None:
    """Write the page, and its plots if pygal is installed."""
    PAGE.write_text(page(entries))
    try:
        draw(entries, ROOT / "docs" / "images")
    except ImportError:
        print("The plots are as before: pygal, which draws them, is not installed.")


if __name__ == "__main__":
    write(published.read())
