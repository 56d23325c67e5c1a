"""What this server serves, described: OpenAPI v3 by group and version, and OpenAPI v2 as a whole.

    index(registry)                      # /openapi/v3
    document(registry, "apps", "v1")     # /openapi/v3/apis/apps/v1
    swagger(registry)                    # /openapi/v2, also in gnostic's protobuf

kubectl reads v3; v2 is there for programs that know nothing else, such as Argo CD.
"""

from kapy.apiserver.openapi.documents import document, encoded, index
from kapy.apiserver.openapi.gnostic import as_protobuf
from kapy.apiserver.openapi.swagger import swagger

__all__ = ["as_protobuf", "document", "encoded", "index", "swagger"]
