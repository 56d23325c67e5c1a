"""The configuration of clusterctl: providers, variables, images, cert-manager, overrides.

    config = load(None, os.environ)
    config.variables.get("AWS_REGION")
    config.provider("aws", ProviderType.INFRASTRUCTURE).url

An invalid part of the file is reported when it is used, as in upstream: an invalid list of
providers does not stop a command that only substitutes variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kapy.clusterctl.config.expansion import expand
from kapy.clusterctl.config.file import File, read
from kapy.clusterctl.config.places import cache_folder, config_folders
from kapy.clusterctl.config.variables import Variables

if TYPE_CHECKING:
    from kapy.clusterctl.config.cert_manager import CertManager
    from kapy.clusterctl.config.images import Images
    from kapy.clusterctl.provider import Provider, ProviderType
    from kapy.clusterctl.repository.cache import Cache

GITHUB_TOKEN: Final = "github-token"
GITLAB_TOKEN: Final = "gitlab-access-token"


def load(path: str | None, environ: Mapping[str, str]) -> Config:
    """Return the configuration of a file (a path or a URL), or of the file in the default location,
    if any.

    Raises ConfigError.
    """
    return Config(read(path, environ), environ)


class Config:
    """The clusterctl configuration, from a file and the environment.

    variables: the values for templates and components. tell: receives log messages with their level
    (upstream's levels of verbosity).
    """

    def __init__(self, file: File | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.file = file or File()
        self.environ = environ or {}
        self.variables = Variables(self.environ, self.file.texts)
        self.tell: Callable[[int, str], None] = lambda _, __: None

    @cached_property
    def providers(self) -> list[Provider]:
        """All known providers, in list order. Raises ConfigError."""
        from kapy.clusterctl.config.providers import configured_providers

        return configured_providers(self.file, self.environ)

    def provider(self, name: str, kind: ProviderType) -> Provider:
        """Return the provider of a name and type. Raises ConfigError with the nearest names."""
        from kapy.clusterctl.config.providers import choose_provider

        return choose_provider(self.providers, name, kind)

    @cached_property
    def images(self) -> Images:
        """The image overrides."""
        from kapy.clusterctl.config.images import Images

        return Images(self.file)

    @cached_property
    def cert_manager(self) -> CertManager:
        """The cert-manager to install. Raises ConfigError."""
        from kapy.clusterctl.config.cert_manager import cert_manager

        return cert_manager(self.file, self.environ)

    @cached_property
    def overrides_folder(self) -> Path:
        """The folder with files that replace those of repositories; it need not exist.

        Raises ConfigError.
        """
        named = (self.variables.get("overridesFolder") or "").strip()
        if named:
            return Path(expand(named, self.environ, "overridesFolder"))
        usual = [folder / "overrides" for folder in config_folders(self.environ)]
        return next((path for path in usual if path.exists()), usual[0])

    @cached_property
    def cache(self) -> Cache:
        """The download cache, shared by all repositories."""
        from kapy.clusterctl.repository.cache import Cache

        named = self.variables.get("KAPY_CACHE")
        if named == "off":
            return Cache(None)
        return Cache(Path(named) if named else cache_folder(self.environ))
