"""What a user configured: providers, variables, images, cert-manager, overrides.

    config = load(None, os.environ)
    config.variables.get("AWS_REGION")
    config.provider("aws", ProviderType.INFRASTRUCTURE).url

A part of the file that is wrong is told when it is asked for, as upstream does: a wrong list of
providers does not keep anybody from substituting variables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kapy.clusterctl.config.expansion import expanded
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
    """The configuration of a file (a path or a URL), or of the one in the usual place, if any.

    Raises ConfigError.
    """
    return Config(read(path, environ), environ)


class Config:
    """The configuration.

    variables: what templates and components are filled with. tell: takes what happens, with how
    closely one must look to be interested (upstream's levels of verbosity).
    """

    def __init__(self, file: File | None = None, environ: Mapping[str, str] | None = None) -> None:
        self.file = file or File()
        self.environ = environ or {}
        self.variables = Variables(self.environ, self.file.texts)
        self.tell: Callable[[int, str], None] = lambda _, __: None

    @cached_property
    def providers(self) -> list[Provider]:
        """All that can be had, in the order of lists. Raises ConfigError."""
        from kapy.clusterctl.config.providers import configured

        return configured(self.file, self.environ)

    def provider(self, name: str, kind: ProviderType) -> Provider:
        """One of them. Raises ConfigError with the nearest names."""
        from kapy.clusterctl.config.providers import chosen

        return chosen(self.providers, name, kind)

    @cached_property
    def images(self) -> Images:
        """Where images come from."""
        from kapy.clusterctl.config.images import Images

        return Images(self.file)

    @cached_property
    def cert_manager(self) -> CertManager:
        """Which cert-manager is installed. Raises ConfigError."""
        from kapy.clusterctl.config.cert_manager import cert_manager

        return cert_manager(self.file, self.environ)

    @cached_property
    def overrides_folder(self) -> Path:
        """Where files are that count more than those of repositories; it need not be there.

        Raises ConfigError.
        """
        named = (self.variables.get("overridesFolder") or "").strip()
        if named:
            return Path(expanded(named, self.environ, "overridesFolder"))
        usual = [folder / "overrides" for folder in config_folders(self.environ)]
        return next((one for one in usual if one.exists()), usual[0])

    @cached_property
    def cache(self) -> Cache:
        """What was downloaded already, for all repositories together."""
        from kapy.clusterctl.repository.cache import Cache

        named = self.variables.get("KAPY_CACHE")
        if named == "off":
            return Cache(None)
        return Cache(Path(named) if named else cache_folder(self.environ))
