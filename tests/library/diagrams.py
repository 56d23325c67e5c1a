"""Draw the layers of kapy, and the way of one write, from the code.

    python -m tests.library.diagrams docs/images

The layers come from the import contracts in pyproject.toml, and the imports below each name from
the source. The way of a write is a trace: which package calls which one, in the order of the first
calls, while a MachineDeployment of a running plane is scaled.
"""

from __future__ import annotations

import asyncio
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any, Final, NamedTuple

import kapy
from kapy.api.machine_deployment import MachineDeployment
from kapy.testing.story import Story
from kapy.testing.virtual_time import VirtualTimeLoop
from tests.stories.plane import running_plane, sample

ROOT: Final = Path(__file__).resolve().parents[2]
SOURCE: Final = Path(kapy.__file__).parent
FOLDER: Final = "docs/images"
WORKERS: Final = "capybara-md-0"

PARTICIPANTS: Final = {
    "core/machineset": "MachineSet controller",
    "core/machinedeployment": "MachineDeployment controller",
    "engine": "engine",
    "client": "client",
    "apiserver/server": "server",
    "apiserver/request": "request",
    "apiserver/auth": "auth",
    "apiserver/verbs": "verbs",
    "apps": "admission rules",
    "apiserver/resources": "resources",
    "apiserver/store": "store",
    "api": "api",
    "kube": "kube",
}
"""The folders of the source that the diagram of a write shows, from left to right."""

ORDER: Final = (
    "client",
    "server",
    "request",
    "auth",
    "verbs",
    "admission rules",
    "resources",
    "api",
    "kube",
    "store",
    "engine",
    "MachineDeployment controller",
    "MachineSet controller",
)
LAST: Final = ("MachineSet controller", "begin")

FONT: Final = 'font-family="sans-serif" fill="#1a1a1a"'
WIDTH: Final = 1180
HEADER: Final = 70
STEP: Final = 26


class Call(NamedTuple):
    """The first call of a function of one participant by another one."""

    caller: str
    callee: str
    function: str


def drawings(calls: Sequence[Call]) -> dict[str, str]:
    """Return all drawings by their file names. calls: the trace of a write."""
    return {
        "layers.svg": layers_drawing("layers", "kapy"),
        "api-server-layers.svg": layers_drawing("apiserver-layers", "kapy.apiserver"),
        "write.svg": write_drawing(calls),
    }


def layers_drawing(contract: str, container: str) -> str:
    """Draw the layers of a contract, the highest one above, each with what it imports."""
    shapes: list[str] = []
    top = 10
    for row in _rows(contract):
        width = (WIDTH - 20 - 10 * (len(row) - 1)) // len(row)
        texts = [_wrap(", ".join(_imports(container, name)), width // 7) for name in row]
        height = 34 + 15 * max(map(len, texts))
        for column, (name, lines) in enumerate(zip(row, texts, strict=True)):
            shapes += _box(10 + column * (width + 10), top, width, height, name, lines)
        top += height + 10
    return _svg(top, shapes)


def _rows(contract: str) -> list[list[str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (layers,) = [item["layers"] for item in contracts if item["id"] == contract]
    return [re.split(r"\s*[|:]\s*", row) for row in layers]


def _imports(container: str, name: str) -> list[str]:
    """Return the packages beside `name` that it imports, in functions, too."""
    folder = SOURCE.joinpath(*container.split(".")[1:], name)
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    pattern = re.compile(rf"^\s*(?:from|import) {re.escape(container)}\.(\w+)", re.MULTILINE)
    names = {package for file in files for package in pattern.findall(file.read_text("utf-8"))}
    return sorted(names - {name})


def _wrap(text: str, width: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _box(
    x: int, top: int, width: int, height: int, name: str, lines: Sequence[str]
) -> Iterator[str]:
    yield (
        f'<rect x="{x}" y="{top}" width="{width}" height="{height}" rx="4" '
        'fill="#eef4fb" stroke="#4a78b0"/>'
    )
    yield _text(x + 8, top + 20, name, 15, weight="bold")
    for number, line in enumerate(lines):
        yield _text(x + 8, top + 37 + 15 * number, line, 11)


def traced_write() -> list[Call]:
    """Return the calls between participants while a MachineDeployment is scaled."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(_trace())


async def _trace() -> list[Call]:
    async with running_plane() as story:
        await story.create(sample())
        await _scaled(story, 2)
        for replicas in (3, 2):  # caches of the process are as warm as they get
            await _scale(story, replicas)
            await _scaled(story, replicas)
            await story.settle()
        trace, before = _Trace(), sys.getprofile()
        sys.setprofile(trace)
        try:
            await _scale(story, 3)
            await _scaled(story, 3)
        finally:
            sys.setprofile(before)
        return trace.calls


async def _scale(story: Story, replicas: int) -> None:
    await story.merge(MachineDeployment, WORKERS, {"spec": {"replicas": replicas}})


async def _scaled(story: Story, replicas: int) -> None:
    await story.until(
        MachineDeployment, WORKERS, lambda obj: obj.status.available_replicas == replicas
    )


class _Trace:
    """A profile function that records the first calls, until the last controller reconciles."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._pairs: set[tuple[str, str, bool]] = set()
        self._participants: dict[str, str] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or (self.calls and self.calls[-1][1:] == LAST):
            return
        callee, caller = self._participant(frame), self._caller(frame.f_back)
        function = frame.f_code.co_name
        if not callee or not caller or callee == caller or function.startswith(("<", "__")):
            return
        pair = caller, callee, function == "begin"  # its mapper comes earlier
        if pair not in self._pairs:
            self._pairs.add(pair)
            self.calls.append(Call(caller, callee, function))

    def _caller(self, frame: FrameType | None) -> str:
        """Return the nearest participant that calls, through code that is none."""
        while frame is not None:
            if participant := self._participant(frame):
                return participant
            frame = frame.f_back
        return ""

    def _participant(self, frame: FrameType) -> str:
        file = frame.f_code.co_filename
        if file not in self._participants:
            path = file.removeprefix(f"{SOURCE}/")
            names = (
                PARTICIPANTS[folder] for folder in PARTICIPANTS if path.startswith(f"{folder}/")
            )
            self._participants[file] = next(names, "")
        return self._participants[file]


def write_drawing(calls: Sequence[Call]) -> str:
    """Draw calls as arrows between the lifelines of the participants."""
    names = [name for name in ORDER if any(name in call[:2] for call in calls)]
    gap = (WIDTH - 120) // (len(names) - 1)
    place = {name: 50 + gap * number for number, name in enumerate(names)}
    bottom = HEADER + STEP * (len(calls) + 1)
    shapes = [_marker()]
    for name, x in place.items():
        for number, word in enumerate(name.split()):
            shapes.append(_text(x, 22 + 15 * number, word, 12, weight="bold", anchor="middle"))
        shapes.append(
            f'<line x1="{x}" y1="{HEADER - 20}" x2="{x}" y2="{bottom}" stroke="#b8c4d0"/>'
        )
    for number, call in enumerate(calls, start=1):
        shapes += _arrow(place[call.caller], place[call.callee], HEADER + STEP * number, call)
    return _svg(bottom + 10, shapes)


def _arrow(start: int, end: int, top: int, call: Call) -> Iterator[str]:
    yield (
        f'<line x1="{start}" y1="{top}" x2="{end}" y2="{top}" stroke="#4a78b0" '
        'marker-end="url(#head)"/>'
    )
    if start < end:
        yield _text(start + 5, top - 4, call.function, 11)
    else:
        yield _text(start - 5, top - 4, call.function, 11, anchor="end")


def _marker() -> str:
    return (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#4a78b0"/></marker></defs>'
    )


def _text(
    x: int, top: int, text: str, size: int, *, weight: str = "normal", anchor: str = "start"
) -> str:
    return (
        f'<text x="{x}" y="{top}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" {FONT}>{escape(text)}</text>'
    )


def _svg(height: int, shapes: Sequence[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}">'
    )
    background = f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    return "\n".join([head, background, *shapes, "</svg>"]) + "\n"


def main() -> None:
    """Write the drawings into the given folder."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings(traced_write()).items():
        (folder / name).write_text(drawing, encoding="utf-8")


if __name__ == "__main__":
    main()
