"""Creates project folders from the templates of a package.

Template names end in `.in`. `@word@` in a text or file name is replaced by a value. A leading
`dot-` becomes a dot, because packaging tools often omit hidden files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Traversable
from pathlib import Path
from typing import Final

from kapy.kube.errors import KapyError

_WORD: Final = re.compile(r"@([a-z_]+)@")
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_NAME_LENGTH: Final = 40
_TEMPLATE: Final = ".in"


class CannotMake(KapyError):
    """The project cannot be created in that place or under that name."""


def check_name(name: str) -> None:
    """Check the project name, which becomes part of names of Namespaces, Services and packages.
    Raises CannotMake."""
    if len(name) > _MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise CannotMake(
            f'"{name}" cannot be the name of a project: it has to be of lower case letters, digits '
            f"and hyphens, begin with a letter, end with none of the hyphens, and have "
            f"{_MAX_NAME_LENGTH} characters at most"
        )


def make_project(
    templates: Sequence[Traversable], folder: Path, words: Mapping[str, str]
) -> list[Path]:
    """Write the files of all templates; returns their relative paths. Raises CannotMake."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CannotMake(f"{folder} is there already; name a new folder with --folder")
    files = {
        Path(_fill_template(name, words)): item for some in templates for name, item in _files(some)
    }
    try:
        for name, template in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_fill_template(template.read_text("utf-8"), words), "utf-8")
    except OSError as error:
        raise CannotMake(f"{folder} cannot be written: {error.strerror or error}") from None
    return sorted(files)


def _files(folder: Traversable, parent: str = "") -> Iterator[tuple[str, Traversable]]:
    for path in folder.iterdir():
        name = f"{parent}{re.sub('^dot-', '.', path.name)}"
        if path.is_dir():
            yield from _files(path, f"{name}/")
        elif name.endswith(_TEMPLATE):
            yield name.removesuffix(_TEMPLATE), path


def _fill_template(text: str, words: Mapping[str, str]) -> str:
    return _WORD.sub(lambda match: words[match[1]], text)
