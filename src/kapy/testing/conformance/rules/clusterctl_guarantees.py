"""Guarantees of clusterctl to releases."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules.rule import Rows

_rows: Final = Rows("clusterctl")
_REPOSITORY: Final = "Provider Repositories"
_OTHERS: Final = "Adding a provider to clusterctl"
_GITHUB: Final = "Creating a provider repository on GitHub"
_GITLAB: Final = "Creating a provider repository on GitLab"
_TARGET: Final = "Target namespace"
_VARIABLES: Final = "Variables"
_CLASSES: Final = "ClusterClass definitions"
_MOVE: Final = "Move"

PROMISES: Final = [
    _rows.command("any-provider", _REPOSITORY, "Every provider that keeps these rules is taken."),
    _rows.command(
        "list", _REPOSITORY, "The configuration file changes and extends the list of providers."
    ),
    _rows.command(
        "names",
        _OTHERS,
        "Name and type together are unique; a name is of lower case letters, digits and -, begins "
        "and ends with a letter or digit, and has at most 63 characters.",
    ),
    _rows.command(
        "prefixes",
        _OTHERS,
        "Predefined providers have the name of their GitHub organisation before theirs; who asks "
        "for one without it is told the whole name. In the configuration file any name will do.",
    ),
    _rows.command(
        "github",
        _GITHUB,
        "Releases are tagged with semantic versions, and have the files as assets; other tags do "
        "not count.",
    ),
    _rows.command(
        "go-proxy",
        _GITHUB,
        "Versions are found through a Go module proxy, as GOPROXY says; where that is off or "
        "direct, GitHub is asked.",
    ),
    _rows.command(
        "gitlab",
        _GITLAB,
        "Generic packages are read, of a project with a number or an escaped path; the url names "
        "the version, since they cannot be listed.",
    ),
    _rows.command(
        "folder",
        "Creating a local provider repository",
        "A folder <provider label>/<version> is a repository.",
    ),
    _rows.command(
        "metadata-told",
        "Validation Rules",
        "The command reports all missing and wrong fields of metadata.yaml at once.",
    ),
    _rows.command(
        "metadata-counts",
        "Metadata YAML",
        "The metadata of a release comes from the release: none is built in.",
    ),
    _rows.command("installed", "Components YAML", "All objects of the components are installed."),
    _rows.command(
        "namespace-needed",
        _TARGET,
        "Without a Namespace in the file, the user has to name one with --target-namespace.",
    ),
    _rows.command(
        "namespaces-refused", _TARGET, "More than one Namespace is refused before anything is done."
    ),
    _rows.command(
        "watching",
        "Controllers & Watching namespace",
        "Installed providers watch all namespaces; the user gets a warning if the components name "
        "one namespace.",
    ),
    _rows.command(
        "rules-told",
        "Components YAML",
        "Rules that are broken without harm, such as a missing label, are warned of.",
    ),
    _rows.command("substitution", _VARIABLES, "${VAR} is replaced, with blanks around VAR or not."),
    _rows.command(
        "functions", _VARIABLES, "Functions and defaults are those of drone/envsubst: ${VAR:=one}."
    ),
    _rows.command(
        "substitution-refused",
        _VARIABLES,
        "The command refuses a template that it cannot parse, with line and column; it names all "
        "missing values at once.",
    ),
    _rows.command("variables-listed", _VARIABLES, "Variables are listed for who asks."),
    _rows.command(
        "label-names",
        "Labels",
        "The label is the prefix of the provider's type and its name, cluster-api for core; what "
        "kubectl installed with it is taken over.",
    ),
    _rows.command(
        "templates-found",
        "Workload cluster templates",
        "cluster-template.yaml is used, and cluster-template-<flavor>.yaml for a flavor; who asks "
        "for one that is not there is told those that are.",
    ),
    _rows.command(
        "common-values",
        "Common variables",
        "CLUSTER_NAME, NAMESPACE, KUBERNETES_VERSION, CONTROL_PLANE_MACHINE_COUNT and "
        "WORKER_MACHINE_COUNT are what argument and flags say.",
    ),
    _rows.command(
        "classes-found",
        _CLASSES,
        "The class that a template uses is read from clusterclass-<name>.yaml.",
    ),
    _rows.command(
        "classes-added",
        _CLASSES,
        "It is added to what is printed, unless the management cluster has it; half a class is "
        "not added to.",
    ),
    _rows.core(
        "owners-set",
        "OwnerReferences chain",
        "Core sets the owner reference of each object that its own objects refer to.",
    ),
    _rows.command(
        "owners-told",
        "OwnerReferences chain",
        "A move leaves objects behind that reach no Cluster through their owners; its dry run "
        "names them.",
    ),
    _rows.command(
        "components-changed",
        "Components YAML transformations",
        "Variables are replaced; the Namespace gets the target's name, namespaced objects that "
        "namespace, all objects labels. Nothing else changes.",
    ),
    _rows.command(
        "templates-changed",
        "Cluster template transformations",
        "Variables are replaced, and all objects get the target namespace. Nothing else changes.",
    ),
    _rows.command(
        "links-left",
        "Links to external objects",
        "The command neither fetches nor changes external objects that the files refer to.",
    ),
    _rows.command(
        "move-kinds",
        _MOVE,
        "Looked at are the kinds whose CRD has the label clusterctl.cluster.x-k8s.io: all objects "
        "of the namespace, of kinds without namespaces all objects.",
    ),
    _rows.command(
        "move-secrets",
        _MOVE,
        "All ConfigMaps and Secrets of the namespace are looked at, and the Secrets where "
        "infrastructure providers are installed.",
    ),
    _rows.command(
        "move-owned",
        _MOVE,
        "Moved is what reaches a Cluster or a ClusterResourceSet by its owners, however far.",
    ),
    _rows.command("move-users", _MOVE, "Certificates that a user made are moved, by their names."),
    _rows.command(
        "move-labels",
        _MOVE,
        "The label clusterctl.cluster.x-k8s.io/move moves an object, and "
        "clusterctl.cluster.x-k8s.io/move-hierarchy what it owns, too; on a CRD, they are of all "
        "its objects.",
    ),
    _rows.command(
        "move-created",
        _MOVE,
        "Namespaced objects are created in the target, or updated, and removed from the source.",
    ),
    _rows.command(
        "move-global",
        _MOVE,
        "Global objects, and what they own, are created where they are not there, never updated, "
        "and not removed.",
    ),
    _rows.command(
        "move-left",
        _MOVE,
        "A move names each object that it leaves behind, with the reason: objects that belong to "
        "the move always, all others in a dry run.",
    ),
    _rows.command(
        "move-paused",
        _MOVE,
        "Clusters are paused while objects are created; a controller that does not care is told, "
        "and the move is undone.",
    ),
    _rows.command(
        "move-blocked",
        _MOVE,
        "Nothing is created while an object has the annotation "
        "clusterctl.cluster.x-k8s.io/block-move.",
    ),
    _rows.command("move-status", _MOVE, "Status is never restored."),
]
