"""The rules that clusterctl has for releases."""

from __future__ import annotations

from typing import Final

from kapy.testing.conformance.rules import clusterctl_guarantees
from kapy.testing.conformance.rules.rule import CheckMethod, Document, Rows

_rows: Final = Rows("clusterctl")
_REPOSITORY: Final = "Provider Repositories"
_METADATA: Final = "Validation Rules"
_CONTROLLERS: Final = "Controllers & Watching namespace"
_TEMPLATES: Final = "Workload cluster templates"
_CLASSES: Final = "ClusterClass definitions"
_MOVE: Final = "Move"
_WITH_TEMPLATES: Final = "there are cluster templates"
_WITH_CLASSES: Final = "there are ClusterClass files"

DOCUMENT: Final = Document(
    "clusterctl",
    "clusterctl",
    [
        _rows.must(
            "repository",
            _REPOSITORY,
            "A release has metadata.yaml and a components file.",
            CheckMethod.STATIC,
            "a folder is checked that is a release",
        ),
        _rows.should(
            "templates",
            _REPOSITORY,
            "A release of an infrastructure provider has cluster templates.",
            CheckMethod.STATIC,
            "it is the release of an infrastructure provider",
        ),
        _rows.must(
            "version-folder",
            "Creating a local provider repository",
            "In a local repository, <provider label>/<version>, the version is a semantic version.",
            CheckMethod.STATIC,
            "the folder above is called as the provider",
        ),
        _rows.must(
            "metadata-version",
            _METADATA,
            "apiVersion of metadata.yaml is clusterctl.cluster.x-k8s.io/v1alpha3.",
            CheckMethod.STATIC,
            "there is a metadata.yaml",
        ),
        _rows.must(
            "metadata-kind",
            _METADATA,
            "kind of metadata.yaml is Metadata.",
            CheckMethod.STATIC,
            "there is a metadata.yaml",
        ),
        _rows.must(
            "release-series",
            _METADATA,
            "releaseSeries of metadata.yaml has at least one entry, each with major, minor and a "
            "contract.",
            CheckMethod.STATIC,
            "there is a metadata.yaml",
        ),
        _rows.must(
            "release-in-series",
            "Metadata YAML",
            "The release itself belongs to one of these series.",
            CheckMethod.STATIC,
            "the folder is called as a version",
        ),
        _rows.should(
            "components-name",
            "Components YAML",
            "The components file is called <type of provider>-components.yaml.",
            CheckMethod.STATIC,
            "there is a components file",
        ),
        _rows.should(
            "namespace",
            "Target namespace",
            "The components file has a Namespace: where to install it.",
            CheckMethod.STATIC,
            "there is a components file",
        ),
        _rows.must(
            "one-namespace",
            "Target namespace",
            "It has not more than one Namespace: clusterctl refuses to install it.",
            CheckMethod.STATIC,
            "there is a components file",
        ),
        _rows.must(
            "in-namespace",
            "Target namespace",
            "All its objects belong to that namespace, unless they belong to none.",
            CheckMethod.STATIC,
            "there is a components file with one Namespace",
        ),
        _rows.must(
            "manager",
            _CONTROLLERS,
            "Controllers run as a Deployment, in a container that is called manager.",
            CheckMethod.STATIC,
            "there is a components file",
        ),
        _rows.must(
            "namespace-flag", _CONTROLLERS, "The manager knows --namespace.", when="controllers run"
        ),
        _rows.should(
            "images",
            _CONTROLLERS,
            "Images have canonical names, with the registry that they come from.",
            CheckMethod.STATIC,
            "there is a components file",
        ),
        _rows.must(
            "variables",
            "Variables",
            "Variables are written so that envsubst understands them.",
            CheckMethod.STATIC,
        ),
        _rows.should(
            "variable-names",
            "Variables",
            "Names of variables begin with the name of the provider.",
            CheckMethod.STATIC,
            "there are variables in a components file",
        ),
        _rows.should(
            "variables-told",
            "Variables",
            "Users are told which variables there are, and what to set them to.",
            CheckMethod.AUTHOR,
        ),
        _rows.should(
            "labels",
            "Labels",
            "Objects of the components file have the label cluster.x-k8s.io/provider, with the "
            "name of the provider.",
            CheckMethod.STATIC,
            "there is a components file",
        ),
        _rows.must(
            "template-names",
            _TEMPLATES,
            "Cluster templates are beside the components file, and called cluster-template.yaml or "
            "cluster-template-<flavor>.yaml.",
            CheckMethod.STATIC,
            "there are files with Clusters",
        ),
        _rows.should(
            "flavors-told",
            _TEMPLATES,
            "Users are told which templates there are.",
            CheckMethod.AUTHOR,
        ),
        _rows.must(
            "template-namespace",
            _TEMPLATES,
            "The namespace is taken to be there: a template has no Namespace.",
            CheckMethod.STATIC,
            _WITH_TEMPLATES,
        ),
        _rows.must(
            "template-one-namespace",
            _TEMPLATES,
            "All objects of a template are in one namespace.",
            CheckMethod.STATIC,
            _WITH_TEMPLATES,
        ),
        _rows.should(
            "common-variables",
            "Common variables",
            "The Cluster of a template has the name ${CLUSTER_NAME}, or one with it in it.",
            CheckMethod.STATIC,
            _WITH_TEMPLATES,
        ),
        _rows.must(
            "own-kinds",
            _TEMPLATES,
            "Kinds of the provider that templates and ClusterClasses have or name are among its "
            "CRDs, in a version that is served.",
            CheckMethod.STATIC,
            "templates or ClusterClasses have or name kinds of the provider",
        ),
        _rows.must(
            "own-fields",
            _TEMPLATES,
            "Fields that templates and ClusterClasses set in objects of the provider's kinds, "
            "patches among them, are fields of its CRDs.",
            CheckMethod.STATIC,
            "templates or ClusterClasses have objects of kinds of the provider",
        ),
        _rows.must(
            "class-names",
            _CLASSES,
            "ClusterClasses are beside the components file, in clusterclass-<name>.yaml with the "
            "name of the class.",
            CheckMethod.STATIC,
            "there are files with ClusterClasses and without Clusters",
        ),
        _rows.should(
            "classes-told", _CLASSES, "Users are told which classes there are.", CheckMethod.AUTHOR
        ),
        _rows.must(
            "class-namespace",
            _CLASSES,
            "The namespace is taken to be there: a class's file has no Namespace.",
            CheckMethod.STATIC,
            _WITH_CLASSES,
        ),
        _rows.should(
            "class-references",
            _CLASSES,
            "References of a ClusterClass have no namespace.",
            CheckMethod.STATIC,
            _WITH_CLASSES,
        ),
        _rows.should(
            "class-objects",
            _CLASSES,
            "Objects of a class's file have no namespace.",
            CheckMethod.STATIC,
            _WITH_CLASSES,
        ),
        _rows.should(
            "class-sharing",
            _CLASSES,
            "No two classes' files have an object in common.",
            CheckMethod.STATIC,
            "there are several ClusterClass files",
        ),
        _rows.should(
            "class-variables",
            _CLASSES,
            "A class's file has no variables of the environment: classes have their own.",
            CheckMethod.STATIC,
            _WITH_CLASSES,
        ),
        _rows.must(
            "owners",
            "OwnerReferences chain",
            "Every object of the provider reaches a Cluster through its owners.",
        ),
        _rows.should(
            "links",
            "Links to external objects",
            "Components and templates hold all objects that they need.",
            CheckMethod.AUTHOR,
        ),
        _rows.must(
            "move",
            _MOVE,
            "Controllers respect spec.paused of the Cluster, and objects survive a move.",
        ),
        _rows.should(
            "status",
            _MOVE,
            "Nothing stands in a status alone that cannot be found out again: a move loses it.",
        ),
    ],
    clusterctl_guarantees.PROMISES,
)
