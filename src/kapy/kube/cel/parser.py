"""Parses source text to a syntax tree, with cel-spec's operators and precedence."""

from __future__ import annotations

from typing import Final

from kapy.kube.cel.errors import CompileError
from kapy.kube.cel.lexer import RESERVED, Token, tokens
from kapy.kube.cel.tree import Call, Index, ListOf, Literal, MapOf, Name, Select, Tree

_PRECEDENCE: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_WORDS: Final = {"true": True, "false": False, "null": None}
_LOGIC: Final = ("&&", "||")
_RESERVED_WORDS: Final = ("in", *_WORDS)
_START: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, "
    "STRING, BYTES, IDENTIFIER}"
)
_MAX_LENGTH: Final = 100_000
_MAX_DEPTH: Final = 100
"""How deep an expression may be nested; Python's own limit must never be met."""


def parse(source: str) -> Tree:
    """Parse a CEL expression to a syntax tree. Raises CompileError."""
    if len(source) > _MAX_LENGTH:
        size = f"size: {len(source)}, limit {_MAX_LENGTH}"
        raise CompileError(f"expression code point size exceeds limit: {size}", source[:80], 0)
    parser = _Parser(source)
    tree = parser.expression()
    parser.end()
    return tree


def _balanced_tree(name: str, operands: list[Tree], places: list[int]) -> Tree:
    if len(operands) == 1:
        return operands[0]
    half = (len(operands) + 1) // 2
    left = _balanced_tree(name, operands[:half], places[: half - 1])
    right = _balanced_tree(name, operands[half:], places[half:])
    return Call(places[half - 1], name, None, (left, right))


class _Parser:
    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = tokens(source)
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _accept(self, text: str) -> bool:
        """Consume the next token if it is this operator. Return whether it was consumed."""
        token = self._next
        if token.text == text and token.kind != "literal":
            self._at += 1
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise self._problem(f"mismatched input '{self._next.text}' expecting '{text}'")

    def _problem(self, problem: str) -> CompileError:
        return CompileError(f"Syntax error: {problem}", self._source, self._next.at)

    def end(self) -> None:
        if self._next.kind != "end":
            raise self._problem(f"mismatched input '{self._next.text}' expecting <EOF>")

    def expression(self) -> Tree:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise CompileError("expression recursion limit exceeded: 100", self._source, 0)
        tree = self._binary(1)
        at = self._next.at
        if self._accept("?"):
            then = self._binary(1)
            self._expect(":")
            tree = Call(at, "_?_:_", None, (tree, then, self.expression()))
        self._depth -= 1
        return tree

    def _binary(self, least: int) -> Tree:
        left = self._unary()
        while True:
            token = self._next
            strength = _PRECEDENCE.get(token.text, 0) if token.kind != "literal" else 0
            if strength < least:
                return left
            if token.text in _LOGIC:
                left = self._logic(left, token.text, strength)
                continue
            self._at += 1
            right = self._binary(strength + 1)
            name = "@in" if token.text == "in" else f"_{token.text}_"
            left = Call(token.at, name, None, (left, right))

    def _logic(self, first: Tree, operator: str, strength: int) -> Tree:
        """Parse a chain of `&&` or `||` as a balanced tree, to limit its depth."""
        operands, places = [first], []
        while self._next.text == operator and self._next.kind != "literal":
            places.append(self._next.at)
            self._at += 1
            operands.append(self._binary(strength + 1))
        return _balanced_tree(f"_{operator}_", operands, places)

    def _unary(self) -> Tree:
        token, count = self._next, 0
        if token.text not in ("!", "-") or token.kind == "literal":
            return self._check_depth(self._member(self._primary()))
        while self._accept(token.text):
            count += 1
        number = self._next.value
        if token.text == "-" and type(number) in (int, float) and self._next.kind == "literal":
            self._at += 1
            tree: Tree = Literal(token.at, -number)
            tree, count = self._member(tree), count - 1
        else:
            tree = self._unary_operand()
        return Call(token.at, f"{token.text}_", None, (tree,)) if count % 2 else tree

    def _unary_operand(self) -> Tree:
        return self._check_depth(self._member(self._primary()))

    def _check_depth(self, tree: Tree) -> Tree:
        if isinstance(tree, Literal) and type(tree.value) is int and tree.value == 2**63:
            raise CompileError("invalid int literal", self._source, tree.at)
        return tree

    def _member(self, tree: Tree) -> Tree:
        while self._next.kind == "op":
            at = self._next.at
            if self._accept("."):
                optional = self._accept("?")
                name = self._name()
                open_at = self._next.at
                if not optional and self._accept("("):
                    tree = Call(open_at, name, tree, self._arguments(")"))
                else:
                    tree = Select(at, tree, name, optional)
            elif self._accept("["):
                optional = self._accept("?")
                tree = Index(at, tree, self.expression(), optional)
                self._expect("]")
            else:
                break
        return tree

    def _name(self) -> str:
        token = self._next
        if token.kind != "name" or token.text in _RESERVED_WORDS:
            raise self._problem(f"mismatched input '{token.text}' expecting IDENTIFIER")
        self._at += 1
        return token.text

    def _arguments(self, close: str) -> tuple[Tree, ...]:
        arguments: list[Tree] = []
        while not self._accept(close):
            if arguments:
                self._expect(",")
            arguments.append(self.expression())
        return tuple(arguments)

    def _primary(self) -> Tree:
        token = self._next
        if token.kind == "literal":
            self._at += 1
            return Literal(token.at, token.value)
        if token.kind == "name" and token.text != "in":
            return self._name_or_call()
        if self._accept("."):
            return self._name_or_call()
        if self._accept("("):
            tree = self.expression()
            self._expect(")")
            return tree
        if self._accept("["):
            return self._list(token.at)
        if self._accept("{"):
            return self._map(token.at)
        raise self._problem(f"mismatched input '{token.text}' expecting {_START}")

    def _name_or_call(self) -> Tree:
        token = self._next
        if token.text in _WORDS:
            self._at += 1
            return Literal(token.at, _WORDS[token.text])
        name = self._name()
        if name in RESERVED:
            raise CompileError(f"reserved identifier: {name}", self._source, token.at)
        at = self._next.at
        return (
            Call(at, name, None, self._arguments(")"))
            if self._accept("(")
            else Name(token.at, name)
        )

    def _list(self, at: int) -> Tree:
        items: list[tuple[Tree, bool]] = []
        while not self._accept("]"):
            if items:
                self._expect(",")
                if self._accept("]"):
                    break
            optional = self._accept("?")
            items.append((self.expression(), optional))
        return ListOf(at, tuple(items))

    def _map(self, at: int) -> Tree:
        entries: list[tuple[Tree, Tree, bool]] = []
        while not self._accept("}"):
            if entries:
                self._expect(",")
                if self._accept("}"):
                    break
            optional = self._accept("?")
            key = self.expression()
            self._expect(":")
            entries.append((key, self.expression(), optional))
        return MapOf(at, tuple(entries))
