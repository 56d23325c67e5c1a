"""Compiled patterns: the operations of Go's `regexp`, on RE2.

RE2 works on UTF-8; inputs and outputs here are text. The rules for adjacent matches, and for `$1`
in replacements, are Go's.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

from kapy.kube.digits import has_only_digits
from kapy.kube.regexp import cost
from kapy.kube.regexp.syntax import BadPattern, Syntax, fail, normal, read

if TYPE_CHECKING:
    import re2

Spans: TypeAlias = list[tuple[int, int]]
"""Where a match and its groups are, in bytes; (-1, -1) for a group that took no part."""

_NO_SPAN: Final = (-1, -1)
_SURELY_SMALL: Final = 5000
_MAX_MEMORY: Final = 6 << 20
_MIN_MEMORY: Final = 128 << 10
_BYTES_OF_INSTRUCTION: Final = 48
_CACHE_BYTES: Final = 64 << 20
_LOOK: Final = 32
_REFERENCE: Final = re.compile(r"\$(?:(\$)|\{(\w+)\}|(\w+))")


class Regexp:
    """A compiled pattern. memory: the maximum bytes of its program. dropped: whether the cache has
    evicted it; its holder must then request it again.
    """

    __slots__ = ("_programs", "_quick", "_syntax", "dropped", "memory", "text")

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text = text
        self.memory = 2 * _memory(syntax.size) + 4 * len(text)
        self.dropped = False
        self._syntax = syntax
        self._programs: dict[bool, tuple[re2._re2.RE2, int]] = {}
        self._quick: tuple[Callable[..., Spans], re2._re2.RE2.Anchor, int] | None = None

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in the text."""
        data = _bytes(text)
        quick = self._quick
        if quick is not None:
            match, anchor, size = quick
            steps = size * len(data)
            if steps < cost.EXPENSIVE_STEPS:
                cost.charge_current(steps)
                result: int = match(anchor, data, 0, len(data))[0][0]
                return result >= 0
        return self._search(data, 0, groups=False)[0] != _NO_SPAN

    def find(self, text: str) -> str | None:
        """Return the first match, None if there is none."""
        data = _bytes(text)
        span = self._search(data, 0, groups=False)[0]
        return None if span == _NO_SPAN else _text(data, span)

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """Return all matches, or the first `limit` ones."""
        data = _bytes(text)
        return [_text(data, spans[0]) for spans in self._all(data, limit, groups=False)]

    def submatches(self, text: str) -> list[list[str]]:
        """Return all matches with their groups; "" for a group that did not participate."""
        data = _bytes(text)
        return [[_text(data, span) for span in spans] for spans in self._all(data, -1, groups=True)]

    def replace(self, text: str, template: str) -> str:
        """Return the text with all matches replaced; `$1`, `${name}` and `$$` in the template are
        expanded.
        """
        data = _bytes(text)
        parts = list(self._parts(template))
        return self._replace(data, lambda spans: _expand(data, parts, spans), groups=True)

    def replace_literal(self, text: str, replacement: str) -> str:
        """Return the text with all matches replaced by a literal text."""
        new = _bytes(replacement)
        return self._replace(_bytes(text), lambda _: new, groups=False)

    def split(self, text: str, limit: int = -1) -> list[str]:
        """Split the text at the matches. limit: the maximum number of parts, negative for
        no limit.
        """
        if limit == 0:
            return []
        if self.text and not text:
            return [""]
        data = _bytes(text)
        parts: list[str] = []
        begin = end = 0
        for spans in self._all(data, limit, groups=False):
            if limit > 0 and len(parts) == limit - 1:
                break
            end = spans[0][0]
            if spans[0][1] != 0:
                parts.append(data[begin:end].decode())
            begin = spans[0][1]
        if end != len(data):
            parts.append(data[begin:].decode())
        return parts

    def _all(self, data: bytes, limit: int, *, groups: bool) -> Iterator[Spans]:
        """Yield the non-overlapping matches; an empty match directly after another match does not
        count.
        """
        if limit == 0:
            return
        previous, result = -1, 0
        for spans in self._searches(data, groups=groups):
            start, end = spans[0]
            if start != end or start != previous:
                yield spans
                result += 1
                if result == limit:
                    return
            previous = end

    def _replace(self, data: bytes, new: Callable[[Spans], bytes], *, groups: bool) -> str:
        result: list[bytes] = []
        size = last = 0
        for spans in self._searches(data, groups=groups):
            start, end = spans[0]
            result.append(data[last:start])
            if end > last or start == 0:
                result.append(new(spans))
                size += len(result[-1])
                if size > cost.MAX_STEPS:
                    raise cost.TooCostly("the result of the replacement is too long")
            last = end
        result.append(data[last:])
        return b"".join(result).decode()

    def _searches(self, data: bytes, *, groups: bool) -> Iterator[Spans]:
        """Yield the result of each search, which starts at the end of the previous match; empty
        matches directly after another match are included.
        """
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
        self, data: bytes, start: int, *, groups: bool, account: cost.TimeBudget | None = None
    ) -> Spans:
        program, size = self._programs.get(groups) or self._compile(groups=groups)
        steps = size * (len(data) - start)
        account = account or cost.current()
        if steps < cost.EXPENSIVE_STEPS:
            account.charge(cost.STEP * steps)
            return self._run_search(program, data, start)
        if steps > cost.MAX_STEPS:
            raise cost.TooCostly(
                f"pattern `{self.text[:100]}` is too large for a text of {len(data)} bytes: make "
                "the pattern simpler (fewer and smaller repetitions) or the text shorter"
            )
        since = cost.clock()
        spans = self._run_search(program, data, start)
        account.charge(cost.clock() - since)
        return spans

    def _run_search(self, program: re2._re2.RE2, data: bytes, start: int) -> Spans:
        spans: Spans = program.Match(_anchor(), data, start, len(data))
        if self._syntax.looks_inside:  # RE2 finds `\B` between the bytes of one character, too
            while spans[0] != _NO_SPAN and _is_inside(data, spans[0][0]):
                spans = program.Match(_anchor(), data, spans[0][0] + 1, len(data))
        return spans

    def _compile(self, *, groups: bool) -> tuple[re2._re2.RE2, int]:
        """Compile the pattern. Return the RE2 program and its number of instructions.

        Raises BadPattern if the program is too large.
        """
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
        """Free the memory of the compiled pattern; later calls fail."""
        self.dropped = True
        self._programs.clear()
        self._quick = None

    def probe(self) -> None:
        """Check that RE2 can compile the pattern; small patterns are not tried. Raises
        BadPattern.
        """
        if self._syntax.size > _SURELY_SMALL and not self._programs:
            self._compile(groups=False)

    def _parts(self, template: str) -> Iterator[bytes | tuple[int, ...]]:
        """Parse the template of a replacement: yield literal texts, and the groups that each
        reference can mean.
        """
        last = 0
        for match in _REFERENCE.finditer(template):
            yield _bytes(template[last : match.start()])
            last = match.end()
            yield b"$" if match[1] else self._referenced_groups(match[2] or match[3])
        yield _bytes(template[last:])

    def _referenced_groups(self, name: str) -> tuple[int, ...]:
        names = self._syntax.names
        if has_only_digits(name) and (name == "0" or name[0] != "0"):
            number = int(name) if len(name) < 9 else len(names)
            return (number,) if number < len(names) else ()
        return tuple(index for index, item in enumerate(names) if item == name and index)


def _expand(data: bytes, parts: list[bytes | tuple[int, ...]], spans: Spans) -> bytes:
    return b"".join(
        part if isinstance(part, bytes) else _first(data, part, spans) for part in parts
    )


def _first(data: bytes, groups: tuple[int, ...], spans: Spans) -> bytes:
    """Return the text of the first of several groups that participated in the match."""
    for group in groups:
        start, end = spans[group]
        if start >= 0:
            return data[start:end]
    return b""


def _is_inside(data: bytes, position: int) -> bool:
    """Return whether a position is inside a multi-byte character."""
    return position < len(data) and data[position] & 0xC0 == 0x80


def _next(data: bytes, position: int) -> int:
    """Return the position of the next character."""
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
    return "" if span == _NO_SPAN else data[span[0] : span[1]].decode()


_ANCHOR: list[re2._re2.RE2.Anchor] = []


def _anchor() -> re2._re2.RE2.Anchor:
    if not _ANCHOR:
        from re2 import _re2

        _ANCHOR.append(_re2.RE2.Anchor.UNANCHORED)
    return _ANCHOR[0]


def _memory(size: int) -> int:
    """Return the memory limit for a program with about this many instructions, including its
    states.
    """
    return min(_MAX_MEMORY, max(_MIN_MEMORY, size * _BYTES_OF_INSTRUCTION))


_CACHE: Final[OrderedDict[str, Regexp]] = OrderedDict()
_cached_bytes = 0


def compile_pattern(pattern: str) -> Regexp:
    """Compile a pattern, or return the cached one. Raises BadPattern."""
    regexp = _CACHE.get(pattern)
    if regexp is not None:
        _CACHE.move_to_end(pattern)
        return regexp
    return _cache(_compile(pattern))


def _compile(pattern: str) -> Regexp:
    cost.current().charge(cost.CHARACTER * len(pattern))
    return Regexp(pattern, read(pattern))


def _cache(regexp: Regexp) -> Regexp:
    global _cached_bytes
    _CACHE[regexp.text] = regexp
    _cached_bytes += regexp.memory
    while _cached_bytes > _CACHE_BYTES and len(_CACHE) > 1:
        _, oldest = _CACHE.popitem(last=False)
        _cached_bytes -= oldest.memory
        oldest.drop()
    return regexp


def check(pattern: str) -> None:
    """Check that a text is a valid pattern of acceptable size. Raises BadPattern."""
    if pattern in _CACHE:
        return
    regexp = _compile(pattern)
    regexp.probe()
    _cache(regexp)


def quote(text: str) -> str:
    """Return a pattern that matches exactly the text (`regexp.QuoteMeta`)."""
    return "".join(f"\\{item}" if item in "\\.+*?()|[]{}^$" else item for item in text)


__all__ = ["BadPattern", "Regexp", "check", "compile_pattern", "quote"]
