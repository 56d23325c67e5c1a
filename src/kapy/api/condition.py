"""Conditions as every kind reports them (`metav1.Condition`), and their v1beta1 form."""

from typing import Annotated

from kapy.api.patterns import QUALIFIED_NAME, REASON
from kapy.kube.model import Model, rules


class V1Beta1Condition(Model):
    type: Annotated[str, rules(min_length=1, max_length=256)]
    status: str
    severity: Annotated[str, rules(max_length=32)] = ""
    last_transition_time: Annotated[str, rules(format="date-time", required=True)] = ""
    reason: Annotated[str, rules(min_length=1, max_length=256)] = ""
    message: Annotated[str, rules(min_length=1, max_length=10240)] = ""


class Condition(Model):
    message: Annotated[str, rules(max_length=32768)]
    reason: Annotated[str, rules(min_length=1, max_length=1024, pattern=REASON)]
    status: Annotated[str, rules(enum=["True", "False", "Unknown"])]
    type: Annotated[str, rules(max_length=316, pattern=QUALIFIED_NAME)]
    last_transition_time: Annotated[str, rules(format="date-time", required=True)] = ""
    observed_generation: Annotated[int | None, rules(format="int64", minimum=0)] = None
