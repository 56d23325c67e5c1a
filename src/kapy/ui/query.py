"""Search, sorting, grouping and paging of the fleet table. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

from kapy.kube.digits import parse_digits
from kapy.ui.rows import STATES, ClusterRow

PAGE_SIZES: Final = (50, 100, 200, 500)
MAX_QUERY: Final = 500
"""Characters of a search."""
GROUPINGS: Final = ("namespace", "class", "version", "state")
"""The groupings beside `label:NAME`."""
_DIGITS: Final = re.compile(r"([0-9]+)")


@lru_cache(4096)
def natural_order(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key that orders numbers in a text by value: v1.9 before v1.31."""
    parts = ((part, parse_digits(part)) for part in _DIGITS.split(text[:100]))
    return tuple((0, 0, part) if number is None else (1, number, "") for part, number in parts)


SORT_KEYS: Final[Mapping[str, Callable[[ClusterRow], Any]]] = {
    "name": lambda row: (row.key.name, row.key.namespace),
    "namespace": lambda row: row.key,
    "state": lambda row: (STATES.index(row.state), row.key),
    "phase": lambda row: (row.phase, row.key),
    "version": lambda row: (natural_order(row.version), row.key),
    "class": lambda row: (row.class_name, row.key),
    "control-plane": lambda row: (_missing(row.control_plane), row.control_plane, row.key),
    "workers": lambda row: (_missing(row.workers), row.workers, row.key),
    "age": lambda row: (row.created, row.key),
    "waiting": lambda row: (row.since or "~", row.key),
    "changed": lambda row: (row.changed, row.key),
}


@dataclass(frozen=True, slots=True)
class FleetQuery:
    """The query of one view. sort: a key of SORT_KEYS, with `-` in descending order."""

    search: str = ""
    state: str = ""
    sort: str = "namespace"
    group: str = ""
    page: int = 1
    size: int = 100

    @property
    def sort_key(self) -> str:
        """The column without the direction."""
        return self.sort.removeprefix("-")

    def url(self, **changes: Any) -> str:
        """Return the URL query of this view with changes; a change other than of the page goes to
        page 1.
        """
        fresh = {} if set(changes) <= {"page"} else {"page": 1}
        values = asdict(self) | fresh | changes
        changed = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
        return f"?{urlencode(changed)}" if changed else "?"

    def toggled(self, column: str) -> str:
        """Return the URL query that sorts by a column, in reverse order if it is the current
        column."""
        return self.url(sort=f"-{column}" if self.sort == column else column)


_DEFAULTS: Final[Mapping[str, Any]] = asdict(FleetQuery())


def query_of(query: Mapping[str, str]) -> FleetQuery:
    """Read the query of a URL; unknown values count as not given."""
    sort, size, group = query.get("sort", ""), _number(query.get("size")), query.get("group", "")
    is_known = group in GROUPINGS or (group.startswith("label:") and len(group) > 6)
    return FleetQuery(
        search=query.get("search", "")[:MAX_QUERY],
        state=query.get("state", "") if query.get("state") in STATES else "",
        sort=sort if sort.removeprefix("-") in SORT_KEYS else "namespace",
        group=group[:MAX_QUERY] if is_known else "",
        page=max(_number(query.get("page")), 1),
        size=size if size in PAGE_SIZES else 100,
    )


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive rows of one page. count: the rows of the group on all pages."""

    title: str
    count: int
    rows: Sequence[ClusterRow]


@dataclass(frozen=True, slots=True)
class FleetView:
    """One page of the table. counts: the clusters by state that match the search."""

    query: FleetQuery
    groups: Sequence[Group]
    total: int
    all_clusters: int
    counts: Mapping[str, int]
    pages: int = 1
    first: int = 0
    labels: Sequence[str] = field(default=())


def view_of(rows: Sequence[ClusterRow], query: FleetQuery) -> FleetView:
    """Select, sort, group and page rows."""
    matching = search_rows(rows, query.search)
    counts = Counter(row.state for row in matching)
    chosen = [row for row in matching if row.state == query.state] if query.state else matching
    is_descending = query.sort.startswith("-")
    ordered = sorted(chosen, key=SORT_KEYS[query.sort_key], reverse=is_descending)
    title = _grouping(query.group)
    sizes: Counter[str] = Counter()
    if title is not None:
        sizes = Counter(map(title, ordered))
        ordered.sort(key=lambda row: natural_order(title(row)))
    pages = max(-(-len(ordered) // query.size), 1)
    first = (min(query.page, pages) - 1) * query.size
    shown = ordered[first : first + query.size]
    return FleetView(
        query=query,
        groups=_groups(shown, title, sizes),
        total=len(chosen),
        all_clusters=len(rows),
        counts={state: counts[state] for state in STATES},
        pages=pages,
        first=first,
        labels=_label_names(rows),
    )


def search_rows(rows: Iterable[ClusterRow], search: str) -> list[ClusterRow]:
    """Return the rows that match every word of a search.

    A word is a part of a name, label (`key=value`), version, state or reason; `name:`, `ns:`,
    `class:`, `version:`, `label:`, `phase:` and `why:` before a word restrict it to that column.
    """
    tests = [_test_of(word) for word in search.lower().split()]
    if not tests:
        return list(rows)
    return [row for row in rows if all(test(row) for test in tests)]


_COLUMNS: Final[Mapping[str, Callable[[ClusterRow], str]]] = {
    "name": lambda row: row.key.name,
    "ns": lambda row: row.key.namespace,
    "namespace": lambda row: row.key.namespace,
    "class": lambda row: row.class_name,
    "version": lambda row: row.version,
    "state": lambda row: row.state,
    "label": lambda row: "\n".join(f"{k}={v}" for k, v in row.labels.items()),
    "phase": lambda row: row.phase,
    "why": lambda row: row.why,
}


def _test_of(word: str) -> Callable[[ClusterRow], bool]:
    column, separator, rest = word.partition(":")
    read = _COLUMNS.get(column) if separator and rest else None
    if read is None:
        return lambda row: word in row.search
    return lambda row: rest in read(row).lower()


def _groups(
    rows: Sequence[ClusterRow], title: Callable[[ClusterRow], str] | None, sizes: Counter[str]
) -> list[Group]:
    if title is None:
        return [Group("", len(rows), rows)] if rows else []
    groups: dict[str, list[ClusterRow]] = {}
    for row in rows:
        groups.setdefault(title(row), []).append(row)
    return [Group(name or "none", sizes[name], members) for name, members in groups.items()]


def _grouping(group: str) -> Callable[[ClusterRow], str] | None:
    if group in GROUPINGS:
        return _COLUMNS[group]
    label = group.removeprefix("label:")
    return (lambda row: row.labels.get(label, "")) if group else None


def _label_names(rows: Sequence[ClusterRow]) -> list[str]:
    """Return the labels by which users may group, the most frequent first."""
    counts = Counter(name for row in rows[:MAX_SAMPLE] for name in row.labels)
    return [name for name, _ in counts.most_common(20)]


MAX_SAMPLE: Final = 500
"""Clusters whose labels are offered as groups."""


def _missing(replicas: tuple[int, int]) -> int:
    return min(replicas[0] - replicas[1], 0)


def _number(text: str | None) -> int:
    number = parse_digits(text or "") or 0
    return number if number < 1_000_000 else 0
