"""Conditions as every kind reports them (`metav1.Condition`), and their v1beta1 form."""

from typing import Annotated, ClassVar

from kapy.api.patterns import QUALIFIED_NAME, REASON
from kapy.kube.model import Model, rules


class V1Beta1Condition(Model):
    """V1Beta1Condition is an observation of one aspect of an object, in the format of v1beta1."""

    ZEROS: ClassVar[bool] = True

    type: Annotated[
        str,
        rules(
            "type is the type of the condition. The format is CamelCase, possibly with a "
            "domain as prefix. An object has at most one condition of each type.",
            min_length=1,
            max_length=256,
        ),
    ]
    status: Annotated[
        str,
        rules(
            "status is the status of the condition. Allowed values are True, False and "
            "Unknown. Unknown means that the controller cannot determine the state."
        ),
    ]
    severity: Annotated[
        str,
        rules(
            "severity classifies the reason when status is False. Values are Error, Warning "
            "and Info. It is empty when status is True or Unknown.",
            max_length=32,
        ),
    ] = ""
    last_transition_time: Annotated[
        str,
        rules(
            "lastTransitionTime is the time at which the status of the condition changed "
            "last, in the format of RFC 3339. A change of reason or message alone does not "
            "change it.",
            format="date-time",
            required=True,
        ),
    ] = ""
    reason: Annotated[
        str,
        rules(
            "reason is a CamelCase word for programs that explains the current status. It "
            "may be empty when status is True. It is stable, in contrast to message.",
            min_length=1,
            max_length=256,
        ),
    ] = ""
    message: Annotated[
        str,
        rules(
            "message explains the current status to humans. It may be empty. Its wording may "
            "change between releases. At most 10240 characters are stored.",
            min_length=1,
            max_length=10240,
        ),
    ] = ""


class Condition(Model, gc=False, kw_only=True):
    """Condition is an observation of one aspect of an object, in the format of Kubernetes APIs."""

    ZEROS: ClassVar[bool] = True

    type: Annotated[
        str,
        rules(
            "type is the type of the condition. The format is CamelCase, possibly with a "
            "domain as prefix. An object has at most one condition of each type.",
            max_length=316,
            pattern=QUALIFIED_NAME,
        ),
    ]
    status: Annotated[
        str,
        rules(
            "status is the status of the condition. Allowed values are True, False and "
            "Unknown. Unknown means that the controller cannot determine the state.",
            enum=["True", "False", "Unknown"],
        ),
    ]
    observed_generation: Annotated[
        int | None,
        rules(
            "observedGeneration is the value of metadata.generation from which the condition "
            "was computed. The condition is out of date while it is smaller than "
            "metadata.generation.",
            format="int64",
            minimum=0,
        ),
    ] = None
    last_transition_time: Annotated[
        str,
        rules(
            "lastTransitionTime is the time at which the status of the condition changed "
            "last, in the format of RFC 3339. A change of reason or message alone does not "
            "change it.",
            format="date-time",
            required=True,
        ),
    ] = ""
    reason: Annotated[
        str,
        rules(
            "reason is a CamelCase word for programs that explains the current status. It is "
            "stable, in contrast to message. The description of conditions lists important "
            "reasons.",
            min_length=1,
            max_length=1024,
            pattern=REASON,
        ),
    ]
    message: Annotated[
        str,
        rules(
            "message explains the current status to humans. It may be empty. Its wording may "
            "change between releases. At most 32768 characters are stored.",
            max_length=32768,
        ),
    ]
