"""The Common Expression Language as Kubernetes has it, for the rules of CustomResourceDefinitions.

    program = compile_expression("self.min <= self.max", {"self": declared_type(schema)})
    value, _ = program.run(document)

    Structural.compile(schema, rules=rule_checker)      # runs `x-kubernetes-validations`
    definition_rule_errors(schema, path)                # whether a definition may have them

Expressions are checked against the types that the schema declares and become Python closures once.
Importing this is not free: who may never meet a rule imports it when the first one comes.
"""

from kapy.kube.cel.compiler import Program, compile_expression
from kapy.kube.cel.definition import definition_rule_errors, rule_errors, rule_text_errors
from kapy.kube.cel.errors import CompileError, CostExceeded, EvaluationError
from kapy.kube.cel.rules import rule_checker
from kapy.kube.cel.schema_types import declared_type

__all__ = [
    "CompileError",
    "CostExceeded",
    "EvaluationError",
    "Program",
    "compile_expression",
    "declared_type",
    "definition_rule_errors",
    "rule_checker",
    "rule_errors",
    "rule_text_errors",
]
