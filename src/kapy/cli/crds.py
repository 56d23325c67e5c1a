"""`kapy crds`: prints the CustomResourceDefinitions of Cluster API's kinds."""

from __future__ import annotations

from collections.abc import Sequence

import click

from kapy.cli.flags import command
from kapy.kube import Document


@command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["yaml", "json", "name"]),
    default="yaml",
    show_default=True,
    help="Output format of the CRDs.",
)
@click.option(
    "--stored-only", is_flag=True, help="Leave out older versions: then nothing has to convert."
)
def crds(names: Sequence[str], output: str, *, stored_only: bool) -> None:
    """Print the CustomResourceDefinitions of Cluster API's kinds, for `kubectl apply -f -`.

    NAME is a kind, a resource, a short name or a group; without one all are printed. The older
    versions of a kind are converted by the webhook of its provider's manager; until that runs, only
    the stored version can be asked for.
    """
    from kapy.api import crds as definitions

    shape = definitions.drop_older_versions if stored_only else definitions.for_kubernetes
    shapes = [shape(item) for item in _select(definitions.crds(), names)]
    click.echo(_print_crds(shapes, output), nl=False)


def _select(crds: Sequence[Document], names: Sequence[str]) -> list[Document]:
    if not names:
        return list(crds)
    wanted = {name.lower(): name for name in names}
    result = [crd for crd in crds if _names_of(crd) & wanted.keys()]
    unknown = wanted.keys() - {name for item in result for name in _names_of(item)}
    if unknown:
        kinds = ", ".join(crd["spec"]["names"]["kind"] for crd in crds)
        raise click.UsageError(
            f"no kind, resource or group is called {wanted[min(unknown)]}; kinds are {kinds}"
        )
    return result


def _names_of(crd: Document) -> set[str]:
    spec = crd["spec"]
    names = spec["names"]
    called = {crd["metadata"]["name"], spec["group"], names["kind"], names["plural"]}
    return {item.lower() for item in (*called, names["singular"], *names.get("shortNames", ()))}


def _print_crds(crds: Sequence[Document], output: str) -> str:
    if output == "name":
        return "".join(f"{crd['metadata']['name']}\n" for crd in crds)
    if output == "json":
        import json

        listed = {"apiVersion": "v1", "kind": "List", "items": list(crds)}
        return json.dumps(listed, indent=2) + "\n"
    from kapy.kube.yaml import dump_all

    return dump_all(list(crds))
