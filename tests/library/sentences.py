"""A finder of sentences whose subject is a question word ("What is deleted may be shown").

Such a sentence names no actor, so a reader has to guess it from the code. Questions are fine,
as are headings of documents, and quotations within code quotes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ("src", "providers")
"""Trees without such a sentence, whose docstrings open with a noun phrase or a verb."""

_WORD = r"(?:What|Who|Which|Whose|Whom)\b(?!-|'s Next)"
_BEFORE = "Of|In|From|By|To|For|On|At|With|About|Into|Under|Beside|Behind|Beyond|Except|Since"
_SUBJECT = re.compile(rf"\W*(?:(?:{_BEFORE}) (?:what|who|which|whose|whom)\b|{_WORD})")
_OPENING = r"\W*(?:How|When|Where|What|Who|Which|Whose|Whom)\b"
_RIDDLE = re.compile(_OPENING)
# A file that cannot have such a sentence or docstring is not parsed, which takes most of the time.
_ANY_SUBJECT = re.compile(rf"\b(?:{_WORD}|(?:{_BEFORE}) (?:what|who|which|whose|whom)\b)")
_ANY_OPENING = re.compile(rf"[\"']{_OPENING}")
_ENDS = re.compile(
    r"(?<=[.!?:])[\"')*_]*\s+(?=\W*[A-Z])|(?<=[.!?:])[\"')*_]*\n|\n\s*\n|\n\s*(?:[-*|]|\d+\.)\s"
)
_LABEL = re.compile(r"(?:^|[.!?…][\"')`]* )((?:[a-z]\w*, )*[a-z]\w*): (?=\S)")
# Strings, the docstrings among them: a file without a label in any of them is not parsed.
_STRING = re.compile(r"\"\"\"(.*?)\"\"\"|\"([^\"\n]+)\"", re.DOTALL)
_CODE = re.compile(r"``?[^`]*``?")
_RULES = ("noqa", "type:", "pragma", "!")


class Place(NamedTuple):
    path: str
    line: int
    sentence: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {' '.join(self.sentence.split())[:100]}"


def riddles(path: str, text: str) -> Iterator[Place]:
    """Sentences of a source file or document whose subject is a question word."""
    if not _ANY_SUBJECT.search(text):
        return
    passages = _document(text) if path.endswith(".md") else _source(text)
    for line, passage in passages:
        yield from (
            Place(path, line + before, sentence)
            for before, sentence in _sentences(passage)
            if _SUBJECT.match(sentence) and not sentence.rstrip("\"')*_` ").endswith("?")
        )


def riddle_openings(path: str, text: str) -> Iterator[Place]:
    """Docstrings that open with a question word in place of a noun or a verb."""
    if not _ANY_OPENING.search(text):
        return
    for line, docstring in _docstrings(ast.parse(text)):
        if _RIDDLE.match(docstring):
            yield Place(path, line, docstring.strip().partition("\n")[0])


def unknown_labels(path: str, text: str) -> Iterator[Place]:
    """Docstrings that explain a parameter or attribute (`name: …`) which does not exist.

    A name exists if the code of the class or function contains it, also as a keyword or a string.
    """
    if not any(next(_labels("".join(parts)), "") for parts in _STRING.findall(text)):
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        labels = list(_labels(ast.get_docstring(node) or ""))
        names = _names_in(node) if labels else frozenset()
        for label in labels:
            if label not in names:
                yield Place(path, node.body[0].lineno, f"{node.name} has no {label}")


def files(trees: tuple[str, ...], *endings: str) -> Iterator[tuple[str, str]]:
    """Paths from the root and texts of the files that people write in the trees."""
    for tree in trees:
        for path in sorted((ROOT / tree).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in endings and not name.startswith("docs/reference/"):
                yield name, path.read_text(encoding="utf-8")


def _labels(docstring: str) -> Iterator[str]:
    """Names at the start of sentences that end with a colon."""
    for paragraph in re.split(r"\n\s*\n", docstring):
        for match in _LABEL.finditer(" ".join(paragraph.split())):
            yield from match[1].split(", ")


def _names_in(tree: ast.AST) -> frozenset[str]:
    """All identifiers and strings in a piece of code, without its first docstring."""
    names: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.keyword(arg=str(name)) | ast.Constant(value=str(name)):
                names.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                names.add(name)
    return frozenset(names)


def _sentences(passage: str) -> Iterator[tuple[int, str]]:
    """Sentences of a passage, with the number of line breaks before each."""
    text = _CODE.sub(lambda quoted: re.sub(r"[^\n]", "x", quoted[0]), passage)
    begin = 0
    for end in [*_ENDS.finditer(text), None]:
        sentence = text[begin : end.start() if end else None]
        lead = len(sentence) - len(sentence.lstrip())
        yield passage.count("\n", 0, begin + lead), sentence.strip()
        begin = end.end() if end else begin


def _document(text: str) -> Iterator[tuple[int, str]]:
    """The prose of a document, with empty lines in place of code, headings and their like."""
    prose: list[str] = []
    fence = ""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
        heads_table = re.match(
            r"\s*\|?[\s:|-]*-{3}[\s:|-]*$", "".join(lines[number + 1 : number + 2])
        )
        skipped = mark or fence or line.startswith("#") or (heads_table and "|" in line)
        prose.append("" if skipped else line.replace("|", ".\n\0") if "|" in line else line)
    # Cells of tables are passages of their own, in the line of their row.
    for number, line in enumerate(prose):
        if "\0" in line:
            yield from ((number + 1, cell.strip("\0\n. ")) for cell in line.split(".\n\0"))
            prose[number] = ""
    yield 1, "\n".join(prose)


def _source(text: str) -> Iterator[tuple[int, str]]:
    yield from _comments(text)
    yield from _strings(ast.parse(text))


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Docstrings of the module, its classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node, clean=False)
            if text is not None:
                yield node.body[0].lineno, text


def _comments(text: str) -> Iterator[tuple[int, str]]:
    """Comments, those in neighbouring lines as one passage."""
    begin, passage, last = 0, "", -1
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        words = token.string.lstrip("#:").strip()
        if words.startswith(_RULES):
            continue
        if token.start[0] == last + 1:
            passage += "\n" + words
        else:
            yield begin, passage
            begin, passage = token.start[0], words
        last = token.start[0]
    yield begin, passage


def _strings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """String literals, those with values in them with a placeholder for each."""
    parts: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts.update(id(part) for part in node.values)
            yield (
                node.lineno,
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "x"
                    for part in node.values
                ),
            )
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts
        ):
            yield node.lineno, node.value
