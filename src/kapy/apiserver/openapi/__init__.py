"""Descriptions of the served resources: OpenAPI v3 by group and version, and OpenAPI v2 as a whole.

    index(registry)                      # /openapi/v3
    document(registry, "apps", "v1")     # /openapi/v3/apis/apps/v1
    swagger(registry)                    # /openapi/v2, also in gnostic's protobuf

kubectl reads v3. Other clients, such as Argo CD, know v2 only.
"""

from kapy.apiserver.openapi.documents import document, encode_document, index
from kapy.apiserver.openapi.swagger import encode_protobuf, swagger

__all__ = ["document", "encode_document", "encode_protobuf", "index", "swagger"]
