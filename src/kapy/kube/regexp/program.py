"""Patterns that run: RE2 behind the questions that Go's `regexp` answers.

RE2 sees UTF-8; whatever goes in and comes out here is text. Which matches there are beside each
other, and what `$1` means in a replacement, is Go's.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from kapy.kube.regexp import cost
from kapy.kube.regexp.syntax import BadPattern, Syntax, fail, normal, read

if TYPE_CHECKING:
    import re2

Spans: TypeAlias = list[tuple[int, int]]
"""Where a match and its groups are, in bytes; (-1, -1) for a group that took no part."""

_NOWHERE: Final = (-1, -1)
_SURELY_SMALL: Final = 5000
_LARGEST: Final = 6 << 20
_SMALLEST: Final = 128 << 10
_BYTES_OF_INSTRUCTION: Final = 48
_KEPT: Final = 64 << 20
_LOOK: Final = 32
_REFERENCE: Final = re.compile(r"\$(?:(\$)|\{(\w+)\}|(\w+))")


class Regexp:
    """A compiled pattern. memory: bytes that it may grow to. dropped: it is no longer among those
    that are kept; who holds it asks for a new one."""

    __slots__ = ("_programs", "_quick", "_syntax", "dropped", "memory", "text")

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text = text
        self.memory = 2 * _memory(syntax.size) + 4 * len(text)
        self.dropped = False
        self._syntax = syntax
        self._programs: dict[bool, tuple[re2._re2.RE2, int]] = {}
        self._quick: tuple[Callable[..., Spans], re2._re2.RE2.Anchor, int] | None = None

    def matches(self, text: str) -> bool:
        """Whether the pattern is found anywhere in the text."""
        data = _bytes(text)
        quick = self._quick
        if quick is not None:
            match, anchor, size = quick
            steps = size * len(data)
            if steps < cost.LONG:
                cost.charge_here(steps)
                found: int = match(anchor, data, 0, len(data))[0][0]
                return found >= 0
        return self._search(data, 0, groups=False)[0] != _NOWHERE

    def find(self, text: str) -> str | None:
        """The first match."""
        data = _bytes(text)
        span = self._search(data, 0, groups=False)[0]
        return None if span == _NOWHERE else _text(data, span)

    def find_all(self, text: str, most: int = -1) -> list[str]:
        """All matches, or the first `most` of them."""
        data = _bytes(text)
        return [_text(data, spans[0]) for spans in self._all(data, most, groups=False)]

    def submatches(self, text: str) -> list[list[str]]:
        """All matches with their groups; "" for a group that took no part."""
        data = _bytes(text)
        return [[_text(data, span) for span in spans] for spans in self._all(data, -1, groups=True)]

    def replace(self, text: str, template: str) -> str:
        """The text with all matches replaced; `$1`, `${name}` and `$$` in the template count."""
        data = _bytes(text)
        parts = list(self._parts(template))
        return self._replaced(data, lambda spans: _expanded(data, parts, spans), groups=True)

    def replace_literal(self, text: str, replacement: str) -> str:
        """The text with all matches replaced by a text that is taken as it is."""
        new = _bytes(replacement)
        return self._replaced(_bytes(text), lambda _: new, groups=False)

    def split(self, text: str, most: int = -1) -> list[str]:
        """What stands between the matches; most: how many parts at most, negative for all."""
        if most == 0:
            return []
        if self.text and not text:
            return [""]
        data = _bytes(text)
        parts: list[str] = []
        begin = end = 0
        for spans in self._all(data, most, groups=False):
            if most > 0 and len(parts) == most - 1:
                break
            end = spans[0][0]
            if spans[0][1] != 0:
                parts.append(data[begin:end].decode())
            begin = spans[0][1]
        if end != len(data):
            parts.append(data[begin:].decode())
        return parts

    def _all(self, data: bytes, most: int, *, groups: bool) -> Iterator[Spans]:
        """Non-overlapping matches; an empty one right after another match is none."""
        if most == 0:
            return
        previous, found = -1, 0
        for spans in self._searches(data, groups=groups):
            start, end = spans[0]
            if start != end or start != previous:
                yield spans
                found += 1
                if found == most:
                    return
            previous = end

    def _replaced(self, data: bytes, new: Callable[[Spans], bytes], *, groups: bool) -> str:
        result: list[bytes] = []
        size = last = 0
        for spans in self._searches(data, groups=groups):
            start, end = spans[0]
            result.append(data[last:start])
            if end > last or start == 0:
                result.append(new(spans))
                size += len(result[-1])
                if size > cost.MOST_STEPS:
                    raise cost.TooCostly("the result of the replacement is too long")
            last = end
        result.append(data[last:])
        return b"".join(result).decode()

    def _searches(self, data: bytes, *, groups: bool) -> Iterator[Spans]:
        """What a search from each place on finds, from the end of one match to the next; empty
        matches are there, too, also right after another one."""
        account, since = cost.current(), cost.clock()
        position = 0
        for turn in count():
            if position > len(data):
                return
            if turn % _LOOK == _LOOK - 1:
                account.charge(cost.clock() - since)
                since = cost.clock()
            spans = self._search(data, position, groups=groups, account=account)
            start, end = spans[0]
            if start < 0:
                return
            yield spans
            position = _next(data, position) if end == position else end

    def _search(
        self, data: bytes, start: int, *, groups: bool, account: cost.Allowance | None = None
    ) -> Spans:
        program, size = self._programs.get(groups) or self._compiled(groups=groups)
        steps = size * (len(data) - start)
        account = account or cost.current()
        if steps < cost.LONG:
            account.charge(cost.STEP * steps)
            return self._found(program, data, start)
        if steps > cost.MOST_STEPS:
            raise cost.TooCostly(
                f"pattern `{self.text[:100]}` is too large for a text of {len(data)} bytes: make "
                "the pattern simpler (fewer and smaller repetitions) or the text shorter"
            )
        since = cost.clock()
        spans = self._found(program, data, start)
        account.charge(cost.clock() - since)
        return spans

    def _found(self, program: re2._re2.RE2, data: bytes, start: int) -> Spans:
        spans: Spans = program.Match(_anchor(), data, start, len(data))
        if self._syntax.looks_inside:  # RE2 finds `\B` between the bytes of one character, too
            while spans[0] != _NOWHERE and _is_inside(data, spans[0][0]):
                spans = program.Match(_anchor(), data, spans[0][0] + 1, len(data))
        return spans

    def _compiled(self, *, groups: bool) -> tuple[re2._re2.RE2, int]:
        """The program, and how many instructions it has. Raises BadPattern when it is too large."""
        import re2

        since = cost.clock()
        options = re2.Options()
        options.log_errors = False
        options.max_mem = _memory(self._syntax.size)
        options.never_capture = not groups
        program = re2._re2.RE2(self._syntax.re2.encode(), options)
        if not program.ok():
            cost.current().charge(cost.clock() - since)
            fail("expression too large", self.text)
        size = program.ProgramSize()
        small = size < _SURELY_SMALL
        cost.current().charge(cost.INSTRUCTION * size if small else cost.clock() - since)
        self._programs[groups] = (program, size)
        if not groups and not self._syntax.looks_inside:
            self._quick = (program.Match, _anchor(), size)
        return program, size

    def drop(self) -> None:
        """Free the memory, whoever still holds this."""
        self.dropped = True
        self._programs.clear()
        self._quick = None

    def probe(self) -> None:
        """Raises BadPattern when RE2 cannot hold the pattern; small ones are not tried."""
        if self._syntax.size > _SURELY_SMALL and not self._programs:
            self._compiled(groups=False)

    def _parts(self, template: str) -> Iterator[bytes | tuple[int, ...]]:
        """Texts, and the groups that references may mean."""
        last = 0
        for found in _REFERENCE.finditer(template):
            yield _bytes(template[last : found.start()])
            last = found.end()
            yield b"$" if found[1] else self._meant(found[2] or found[3])
        yield _bytes(template[last:])

    def _meant(self, name: str) -> tuple[int, ...]:
        names = self._syntax.names
        if name.isascii() and name.isdigit() and (name == "0" or name[0] != "0"):
            number = int(name) if len(name) < 9 else len(names)
            return (number,) if number < len(names) else ()
        return tuple(index for index, one in enumerate(names) if one == name and index)


def _expanded(data: bytes, parts: list[bytes | tuple[int, ...]], spans: Spans) -> bytes:
    return b"".join(one if isinstance(one, bytes) else _first(data, one, spans) for one in parts)


def _first(data: bytes, groups: tuple[int, ...], spans: Spans) -> bytes:
    """What the first of some groups that took part has matched."""
    for group in groups:
        start, end = spans[group]
        if start >= 0:
            return data[start:end]
    return b""


def _is_inside(data: bytes, position: int) -> bool:
    """Whether a position is between the bytes of a character."""
    return position < len(data) and data[position] & 0xC0 == 0x80


def _next(data: bytes, position: int) -> int:
    """Where the character after the one at a position begins."""
    position += 1
    while _is_inside(data, position):
        position += 1
    return position


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return normal(text).encode()


def _text(data: bytes, span: tuple[int, int]) -> str:
    return "" if span == _NOWHERE else data[span[0] : span[1]].decode()


_ANCHOR: list[re2._re2.RE2.Anchor] = []


def _anchor() -> re2._re2.RE2.Anchor:
    if not _ANCHOR:
        from re2 import _re2

        _ANCHOR.append(_re2.RE2.Anchor.UNANCHORED)
    return _ANCHOR[0]


def _memory(size: int) -> int:
    """What a program of about so many instructions may use, its states included."""
    return min(_LARGEST, max(_SMALLEST, size * _BYTES_OF_INSTRUCTION))


_KNOWN: Final[OrderedDict[str, Regexp]] = OrderedDict()
_held = 0


def compiled(pattern: str) -> Regexp:
    """The compiled pattern, kept while there is room. Raises BadPattern."""
    found = _KNOWN.get(pattern)
    if found is not None:
        _KNOWN.move_to_end(pattern)
        return found
    return _kept(_read(pattern))


def _read(pattern: str) -> Regexp:
    cost.current().charge(cost.CHARACTER * len(pattern))
    return Regexp(pattern, read(pattern))


def _kept(made: Regexp) -> Regexp:
    global _held
    _KNOWN[made.text] = made
    _held += made.memory
    while _held > _KEPT and len(_KNOWN) > 1:
        _, oldest = _KNOWN.popitem(last=False)
        _held -= oldest.memory
        oldest.drop()
    return made


def check(pattern: str) -> None:
    """Raises BadPattern when a text is no pattern, or one that is too large."""
    if pattern in _KNOWN:
        return
    made = _read(pattern)
    made.probe()
    _kept(made)


def quoted(text: str) -> str:
    """A pattern that matches just the text (`regexp.QuoteMeta`)."""
    return "".join(f"\\{one}" if one in "\\.+*?()|[]{}^$" else one for one in text)


__all__ = ["BadPattern", "Regexp", "check", "compiled", "quoted"]
