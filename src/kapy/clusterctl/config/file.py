"""The configuration file: its location and its content.

It is read as upstream reads it (with viper): keys in any case; YAML, JSON or TOML by its extension.
Upstream: `cmd/clusterctl/client/config/reader_viper.go`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kapy.clusterctl.config.places import config_folders
from kapy.clusterctl.errors import ConfigError
from kapy.kube.errors import KapyError

_NAME: Final = "clusterctl"
_READ_ERROR: Final = "failed to initialize the configuration reader"


class File(NamedTuple):
    """The content of a configuration file.

    source: its path or URL; "" if there is none. values: with keys in lower case at every level.
    texts: the top-level scalars as text, which are the variables.
    """

    source: str = ""
    values: Mapping[str, Any] = MappingProxyType({})
    texts: Mapping[str, str] = MappingProxyType({})


def read(place: str | None, environ: Mapping[str, str]) -> File:
    """Read the file at a path or URL; by default, the file in the usual locations, if any.

    Raises ConfigError.
    """
    if place and urlsplit(place).scheme in ("http", "https"):
        from kapy.clusterctl.config.remote import download

        return _parse(place, ".yaml", download(place))
    path = Path(place) if place else default_file(config_folders(environ))
    if path is None:
        return File()
    try:
        return _parse(str(path), path.suffix.lower(), path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(
            f"{_READ_ERROR}: failed to check if clusterctl config file exists: stat "
            f"{path.absolute()}: no such file or directory"
        ) from None
    except OSError as error:
        raise ConfigError(f"{_READ_ERROR}: {path} cannot be read: {error.strerror}") from error


def default_file(folders: Sequence[Path]) -> Path | None:
    """Return the first configuration file found in the folders."""
    value = (folder / f"{_NAME}{end}" for folder in folders for end in _READERS if end)
    return next((path for path in value if path.is_file()), None)


def text_of(value: object) -> str:
    """Return a value as the text of a variable, in Go's format; "" for lists and maps."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        from decimal import Decimal

        text = format(Decimal(repr(value)), "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def _parse(source: str, end: str, content: bytes) -> File:
    if end not in _READERS:
        raise ConfigError(
            f'{_READ_ERROR}: {source}: a file "*{end}" cannot be read; '
            "write it as YAML, JSON or TOML"
        )
    try:
        values, texts = _READERS[end](content)
    except (ValueError, KapyError, RecursionError) as error:
        raise ConfigError(
            f"{_READ_ERROR}: While parsing config: {source}: {error}; correct the file, or name "
            "another one with --config"
        ) from error
    return File(source, _lower_keys(values), {key.lower(): text for key, text in texts.items()})


def _yaml(content: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    from kapy.kube import yaml  # not needed without a file

    values = _mapping(yaml.load(content))
    texts = _texts(values)
    if any(isinstance(value, bool) for value in values.values()):
        texts |= _words(content)
    return values, texts


def _words(content: bytes) -> dict[str, str]:
    """Return the booleans of the top level as they are written: upstream reads `yes` and `on` as
    text.
    """
    import yaml as pyyaml

    root = pyyaml.compose(content, Loader=pyyaml.CSafeLoader)
    return {
        key.value: text.lower() if text.lower() in ("true", "false") else text
        for key, value in (root.value if isinstance(root, pyyaml.MappingNode) else [])
        if value.tag == "tag:yaml.org,2002:bool"
        for text in [str(value.value)]
    }


def _json(content: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    import json

    values = _mapping(json.loads(content))
    return values, _texts(values)


def _toml(content: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    import tomllib

    values = tomllib.loads(content.decode())
    return values, _texts(values)


def _mapping(value: object) -> dict[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise ValueError("the file must be a map of settings (KEY: value)")
    return value or {}


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {key: text_of(value) for key, value in values.items() if value is not None}


def _lower_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key.lower(): _lower_keys(item) for key, item in value.items()}
    return [_lower_keys(item) for item in value] if isinstance(value, list) else value


_READERS: Final[dict[str, Callable[[bytes], tuple[dict[str, Any], dict[str, str]]]]] = {
    ".json": _json,
    ".toml": _toml,
    ".yaml": _yaml,
    ".yml": _yaml,
    "": _yaml,
}
