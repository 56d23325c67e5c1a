r"""Names of Unicode classes in Go (`\p{Greek}`, `\pL`), and their names in RE2."""

from __future__ import annotations

from typing import Final

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
