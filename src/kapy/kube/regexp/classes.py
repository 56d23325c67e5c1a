r"""Single characters in patterns, with their escapes, and character classes: `[a-z\d[:alpha:]]`,
`\p{Greek}`.

Unicode classes have other names in Go (`\p{Greek}`, `\pL`) than in RE2.
"""

from __future__ import annotations

import re
from typing import Final

# Sets without characters above ASCII: compiling a range of all of Unicode takes milliseconds.
_SPECIAL: Final = r"\x00-\x1f!-$'-+\-.<>?\[-^`{-}\x7f"
_SAFE: Final = re.compile(f"[^{_SPECIAL}]+")
_OTHER: Final = re.compile(f"[{_SPECIAL}]")
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_OCTAL: Final = re.compile(r"\\(?:[1-7](?=[0-7])|0)[0-7]{0,2}")
_HEX: Final = "0123456789abcdefABCDEF"
_INVALID: Final = "invalid escape sequence"
_LAST: Final = 0x10FFFF


class InvalidSyntax(Exception):
    """A syntax error in a pattern, with the invalid part."""

    def __init__(self, problem: str, part: str) -> None:
        super().__init__(problem, part)
        self.problem = problem
        self.where = part


def literal(text: str) -> str:
    """Return literal text escaped for RE2."""
    if _SAFE.fullmatch(text):
        return text
    return _OTHER.sub(lambda match: f"\\x{{{ord(match[0]):X}}}", text)


def member(character: str) -> str:
    """Return a character escaped for a bracket of RE2."""
    if character.isascii() and character.isalnum():
        return character
    return f"\\x{{{ord(character):X}}}"


def escape(text: str, at: int) -> tuple[str, int]:
    """Parse the escape at a position; returns its character and the position after it. Raises
    InvalidSyntax.
    """
    kind = text[at + 1 : at + 2]
    if not kind:
        raise InvalidSyntax("trailing backslash at end of expression", "")
    if kind == "x":
        return _hexadecimal(text, at)
    if kind in _CONTROLS:
        return _CONTROLS[kind], at + 2
    octal = _OCTAL.match(text, at)
    if octal is not None:
        return chr(int(octal[0][1:], 8)), octal.end()
    if kind.isascii() and not kind.isalnum():
        return kind, at + 2
    raise InvalidSyntax(_INVALID, text[at : at + 2])


def _hexadecimal(text: str, at: int) -> tuple[str, int]:
    if text[at + 2 : at + 3] == "{":
        return _braced_hexadecimal(text, at)
    digits = text[at + 2 : at + 4]
    if len(digits) == 2 and digits[0] in _HEX and digits[1] in _HEX:
        return chr(int(digits, 16)), at + 4
    raise InvalidSyntax(_INVALID, text[at : at + 2 + len(digits)])


def _braced_hexadecimal(text: str, at: int) -> tuple[str, int]:
    r"""Parse a hexadecimal escape in braces: `\x{10FFFF}`."""
    value, end = 0, at + 3
    while end < len(text):
        character = text[end]
        end += 1
        if character == "}" and end > at + 4:
            return chr(value), end
        if character not in _HEX:
            break
        value = value * 16 + int(character, 16)
        if value > _LAST:
            break
    raise InvalidSyntax(_INVALID, text[at:end])


_CATEGORIES: Final = (
    "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm "
    "So Z Zl Zp Zs"
)
_SCRIPTS: Final = (
    "Adlam Ahom Arabic Armenian Avestan Balinese Bamum Batak Bengali Bhaiksuki Bopomofo Brahmi "
    "Braille Buginese Buhid Carian Chakma Cham Cherokee Chorasmian Common Coptic Cuneiform Cypriot "
    "Cyrillic Deseret Devanagari Dogra Duployan Elbasan Elymaic Ethiopic Georgian Glagolitic "
    "Gothic Grantha Greek Gujarati Gurmukhi Han Hangul Hanunoo Hatran Hebrew Hiragana Inherited "
    "Javanese Kaithi Kannada Katakana Kawi Kharoshthi Khmer Khojki Khudawadi Lao Latin Lepcha "
    "Limbu Lisu Lycian Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Medefaidrin "
    "Miao Modi Mongolian Mro Multani Myanmar Nabataean Nandinagari Newa Nko Nushu Ogham Oriya "
    "Osage Osmanya Palmyrene Phoenician Rejang Runic Samaritan Saurashtra Sharada Shavian Siddham "
    "Sinhala Sogdian Soyombo Sundanese Syriac Tagalog Tagbanwa Takri Tamil Tangsa Tangut Telugu "
    "Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Yezidi Yi"
)
"""Those of one word: since it compares names without their underscores, Go finds no others."""

_ALIASES: Final = {
    "Casedletter": "LC",
    "Closepunctuation": "Pe",
    "Cntrl": "Cc",
    "Combiningmark": "M",
    "Connectorpunctuation": "Pc",
    "Control": "Cc",
    "Currencysymbol": "Sc",
    "Dashpunctuation": "Pd",
    "Decimalnumber": "Nd",
    "Digit": "Nd",
    "Enclosingmark": "Me",
    "Finalpunctuation": "Pf",
    "Format": "Cf",
    "Initialpunctuation": "Pi",
    "Lc": "LC",
    "Letter": "L",
    "Letternumber": "Nl",
    "Lineseparator": "Zl",
    "Lowercaseletter": "Ll",
    "Mark": "M",
    "Mathsymbol": "Sm",
    "Modifierletter": "Lm",
    "Modifiersymbol": "Sk",
    "Nonspacingmark": "Mn",
    "Number": "N",
    "Openpunctuation": "Ps",
    "Other": "C",
    "Otherletter": "Lo",
    "Othernumber": "No",
    "Otherpunctuation": "Po",
    "Othersymbol": "So",
    "Paragraphseparator": "Zp",
    "Privateuse": "Co",
    "Punct": "P",
    "Punctuation": "P",
    "Separator": "Z",
    "Spaceseparator": "Zs",
    "Spacingmark": "Mc",
    "Surrogate": "Cs",
    "Symbol": "S",
    "Titlecaseletter": "Lt",
    "Unassigned": "Cn",
    "Uppercaseletter": "Lu",
}
_KNOWN: Final = {
    **{name: name for name in (*_CATEGORIES.split(), *_SCRIPTS.split()) if name != "LC"},
    **_ALIASES,
    "Any": "Any",
    "Assigned": "Assigned",
    "Ascii": "ASCII",
}
_VISIBLE: Final = r"\pL\pM\pN\pP\pS\pZ"
_SHORT_C: Final = r"\p{Cc}\p{Cf}\p{Co}\p{Cs}"
_UNIONS: Final = {
    "LC": (r"\p{Lu}\p{Ll}\p{Lt}", ""),
    "ASCII": (r"\x00-\x7F", r"\x{80}-\x{10FFFF}"),
    "C": ("", _VISIBLE),
    "Cn": ("", _VISIBLE + _SHORT_C),
    "Assigned": (_VISIBLE + _SHORT_C, ""),
}
"""Classes that RE2 lacks: as members of a bracket, and their complements."""

_FOLDED_ASCII: Final = (
    r"\x00-\x7F\x{17F}\x{212A}",
    r"\x{80}-\x{17E}\x{180}-\x{2129}\x{212B}-\x{10FFFF}",
)
"""ASCII where case does not count: a long s and the sign of Kelvin belong to it."""


def canonical(name: str) -> str:
    """Return the name without spaces, dashes and underscores, with only its first letter in upper
    case.
    """
    letters = name.replace("_", "").replace("-", "").replace(" ", "")
    return _ascii_upper(letters[:1]) + "".join(map(_ascii_lower, letters[1:]))


def _ascii_upper(text: str) -> str:
    return text.upper() if text.isascii() else text


def _ascii_lower(text: str) -> str:
    return text.lower() if text.isascii() else text


def members(name: str, *, negated: bool, folds: bool) -> tuple[str, bool] | None:
    """Return the bracket members that represent a class, and whether the bracket must be negated;
    None if there is no such class. folds: matching ignores case.
    """
    canonical_name = _KNOWN.get(canonical(name))
    if canonical_name is None:
        return None
    if canonical_name not in _UNIONS:
        return f"\\{'P' if negated else 'p'}{{{canonical_name}}}", False
    union = _FOLDED_ASCII if folds and canonical_name == "ASCII" else _UNIONS[canonical_name]
    positive, complement = union[:: -1 if negated else 1]
    return (positive, False) if positive else (complement, True)


_RANGE: Final = "invalid character class range"
_POSIX: Final = frozenset(
    (
        *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"),
        *("lower", "print", "punct", "space", "upper", "word", "xdigit"),
    )
)
_PERL: Final = "dDsSwW"
_TABLE: Final = 500
"""Instructions that a table of Unicode may take."""


class CharacterClasses:
    """Parses the character classes of one pattern.

    Each method returns the text for RE2, the maximum number of instructions, and the position after
    the class; it raises InvalidSyntax. folds: matching ignores case.
    """

    def __init__(self, pattern: str) -> None:
        self._text = pattern

    def unicode(self, at: int, *, folds: bool) -> tuple[str, int, int]:
        r"""Parse `\pN`, `\p{Greek}` or `\P{^Greek}` outside of brackets."""
        (written, inverted), end = self._parse_property(at, folds=folds)
        return f"[{'^' if inverted else ''}{written}]", _TABLE, end

    def _parse_property(self, at: int, *, folds: bool) -> tuple[tuple[str, bool], int]:
        text = self._text
        negated = text[at + 1] == "P"
        if text[at + 2 : at + 3] == "{":
            close = text.find("}", at)
            if close < 0:
                raise InvalidSyntax(_RANGE, text[at:])
            name, end = text[at + 3 : close], close + 1
        else:
            name, end = text[at + 2 : at + 3], at + 2 + len(text[at + 2 : at + 3])
        if name.startswith("^"):
            name, negated = name[1:], not negated
        results = members(name, negated=negated, folds=folds)
        if results is None:
            raise InvalidSyntax(_RANGE, text[at:end])
        return results, end

    def bracket(self, start: int, *, folds: bool) -> tuple[str, int, int]:
        """Parse a class in brackets."""
        text, at = self._text, start + 1
        out, size = ["["], 1
        if text.startswith("^", at):
            out.append("^")
            at, size = at + 1, 16
        first = True
        while first or not text.startswith("]", at):
            first = False
            written, cost, at = self._member(start, at, folds=folds)
            out.append(written)
            size += cost
        return "".join(out) + "]", size, at + 1

    def _member(self, start: int, at: int, *, folds: bool) -> tuple[str, int, int]:
        text = self._text
        if text.startswith("[:", at) and (end := text.find(":]", at + 2)) >= 0:
            return self._posix(at, end)
        kind = text[at + 1 : at + 2] if text.startswith("\\", at) else ""
        if kind and kind in "pP":
            (written, inverted), end = self._parse_property(at, folds=folds)
            if inverted:
                raise InvalidSyntax(
                    "this class is not supported within brackets (write it outside of them)",
                    text[at:end],
                )
            return written, _TABLE, end
        if kind and kind in _PERL:
            return f"\\{kind}", 12, at + 2
        return self._range(start, at)

    def _posix(self, at: int, end: int) -> tuple[str, int, int]:
        name = self._text[at + 2 : end]
        if name.removeprefix("^") not in _POSIX:
            raise InvalidSyntax(_RANGE, self._text[at : end + 2])
        return self._text[at : end + 2], 8, end + 2

    def _range(self, start: int, at: int) -> tuple[str, int, int]:
        text = self._text
        low, end = self._character(start, at)
        if not text.startswith("-", end) or text[end + 1 : end + 2] in ("", "]"):
            return member(low), 1 if low.isascii() else 4, end
        high, end = self._character(start, end + 1)
        if high < low:
            raise InvalidSyntax(_RANGE, text[at:end])
        return f"{member(low)}-{member(high)}", 1 if high.isascii() else 16, end

    def _character(self, start: int, at: int) -> tuple[str, int]:
        text = self._text
        if at >= len(text):
            raise InvalidSyntax("missing closing ]", text[start:])
        if text[at] == "\\":
            return escape(text, at)
        return text[at], at + 1
