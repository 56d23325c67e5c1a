"""Structural schemas (a CRD's `openAPIV3Schema`), compiled once and then run on many documents.

    structural = Structural.compile(version["schema"]["openAPIV3Schema"])
    document = structural.default(document)            # fills in defaults, drops nulls
    document, unknown = structural.prune(document)     # paths of what was dropped
    errors = structural.validate(document, old)        # field errors in kube-apiserver's words

The order is kube-apiserver's: defaults first, then pruning, then (after admission) validation. No
function changes its argument; what a step leaves alone is shared with the result.
"""

from kapy.kube.schema.definition import (
    SchemaFindings,
    field_schema_errors,
    has_rules,
    schema_errors,
    unknown_formats,
    validate_schema,
)
from kapy.kube.schema.rules import CheckedValue, Findings, RuleChecker, Rules
from kapy.kube.schema.scale import scale_errors
from kapy.kube.schema.strictness import Strictness, strictness_after
from kapy.kube.schema.structural import FieldSchema, Structural
from kapy.kube.schema.traversal import any_schema

__all__ = [
    "CheckedValue",
    "FieldSchema",
    "Findings",
    "RuleChecker",
    "Rules",
    "SchemaFindings",
    "Strictness",
    "Structural",
    "any_schema",
    "field_schema_errors",
    "has_rules",
    "scale_errors",
    "schema_errors",
    "strictness_after",
    "unknown_formats",
    "validate_schema",
]
