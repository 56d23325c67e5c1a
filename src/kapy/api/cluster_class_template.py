"""References of a ClusterClass to templates, and the names of the objects created from them."""

from typing import Annotated, ClassVar

from kapy.api.patterns import DNS_SUBDOMAIN, DOMAIN_PATH, KIND
from kapy.kube import Document
from kapy.kube.model import Model, rules


class ClusterClassTemplateReference(Model):
    """ClusterClassTemplateReference is a reference to a template in the namespace of the
    ClusterClass.
    """

    kind: Annotated[
        str,
        rules(
            "kind is the kind of the template. It must end with Template.",
            min_length=1,
            max_length=63,
            pattern=KIND,
        ),
    ]
    name: Annotated[
        str,
        rules(
            "name is the name of the template. The template must be in the same namespace as "
            "the ClusterClass.",
            min_length=1,
            max_length=253,
            pattern=DNS_SUBDOMAIN,
        ),
    ]
    api_version: Annotated[
        str,
        rules(
            "apiVersion is the API group and version of the template. Patches see the "
            "template in this version.",
            min_length=1,
            max_length=317,
            pattern=DOMAIN_PATH,
        ),
    ]


class ClusterClassTemplate(Model):
    """ClusterClassTemplate is a template from which the objects of a Cluster are created."""

    template_ref: Annotated[
        ClusterClassTemplateReference,
        rules(
            "templateRef is a reference to the template. A change rolls out new Machines in "
            "all Clusters of the class if the content of the template is different."
        ),
    ]


class ClassNaming(Model):
    """ClassNaming configures the names of objects that are created from a ClusterClass."""

    SCHEMA: ClassVar[Document] = {"minProperties": 1}

    template: Annotated[
        str,
        rules(
            "template is the Go template of the names of new objects. It knows .cluster.name "
            "and .random. For workers it also knows .machineDeployment.topologyName or "
            ".machinePool.topologyName. Defaults to {{ .cluster.name }}-{{ .random }}, for "
            "workers to {{ .cluster.name }}-{{ .machineDeployment.topologyName }}-{{ .random "
            "}} or its counterpart for MachinePools. Existing objects keep their names.",
            min_length=1,
            max_length=1024,
        ),
    ] = ""
