"""The names of the files of a provider's release, and their text.

Contract: "Naming conventions" of the clusterctl provider contract.
"""

from __future__ import annotations

from kapy.clusterctl.errors import FileMissing, RepositoryError
from kapy.clusterctl.repository.releases import Repository


def cluster_template(flavor: str = "") -> str:
    """The file name of the cluster template of a flavour; by default, of the default one."""
    return f"cluster-template-{flavor}.yaml" if flavor else "cluster-template.yaml"


def cluster_class(name: str) -> str:
    """The file name of a ClusterClass."""
    return f"clusterclass-{name}.yaml"


async def text_of(repository: Repository, version: str, name: str, label: str) -> str:
    """The text of a file; bytes that are not UTF-8 become surrogate escapes.

    label: the provider's name in errors. Raises RepositoryError.
    """
    try:
        content = await repository.file(version, name)
    except RepositoryError as error:
        result = f'failed to read "{name}" from provider\'s repository "{label}": {error}'
        kind = FileMissing if isinstance(error, FileMissing) else RepositoryError
        raise kind(result) from error
    return content.decode("utf-8", "surrogateescape")
