"""Errors of management operations.

* ClusterctlError            a sentence with the way out; the command line shows it as it is
  - ConfigError              the configuration file or a flag is wrong
  - RepositoryError          a provider's repository cannot be read, or lacks a file or version
    + FileMissing            the version exists but has no such file
  - BundleError              a bundle cannot be written, or is incomplete
  - MetadataError            metadata.yaml is missing or invalid
  - ComponentsError          a components file violates its contract
  - TemplateError            a cluster template or a ClusterClass file is invalid
  - BadSubstitution          a `${…}` expression in a file is invalid (`envsubst`)
  - MissingVariables         variables of a file are not set (`variables`)
  - BadManifest              a file is not YAML, or has no objects (`manifests`)
  - CannotConvert            a manifest cannot be converted (`convert`)
  - InventoryError           the installed providers do not allow the operation
  - MoveError                a move cannot begin or failed; the message says how to go on
"""

from __future__ import annotations

from kapy.kube.errors import KapyError


class ClusterctlError(KapyError):
    """A management operation failed."""


class ConfigError(ClusterctlError):
    """The configuration file, the environment or a flag is wrong."""


class RepositoryError(ClusterctlError):
    """A repository cannot be read, or has no such version or file."""


class FileMissing(RepositoryError):
    """A version of a provider has no file of that name."""


class BundleError(ClusterctlError):
    """A bundle file cannot be written, or its content is damaged."""


class MetadataError(ClusterctlError):
    """A provider's metadata.yaml is missing, or something in it is wrong."""


class ComponentsError(ClusterctlError):
    """A provider's components file breaks the contract."""


class TemplateError(ClusterctlError):
    """A cluster template or a ClusterClass file is wrong."""


class InventoryError(ClusterctlError):
    """The installed providers do not allow the operation."""


class MoveError(ClusterctlError):
    """A move cannot begin or failed; the message says how to go on."""
