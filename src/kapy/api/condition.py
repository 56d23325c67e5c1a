"""Conditions as every kind reports them (`metav1.Condition`), and their v1beta1 form."""

from typing import Annotated, ClassVar

from kapy.api.patterns import QUALIFIED_NAME, REASON
from kapy.kube.model import Model, rules


class V1Beta1Condition(Model):
    """A condition as v1beta1 wrote it."""

    ZEROS: ClassVar[bool] = True

    type: Annotated[str, rules("Which aspect this is about.", min_length=1, max_length=256)]
    status: Annotated[str, rules("True, False or Unknown.")]
    severity: Annotated[str, rules("How bad it is when the status is False.", max_length=32)] = ""
    last_transition_time: Annotated[
        str, rules("When the status changed last.", format="date-time", required=True)
    ] = ""
    reason: Annotated[
        str,
        rules(
            "Why the status is what it is, in one word for programs.", min_length=1, max_length=256
        ),
    ] = ""
    message: Annotated[
        str, rules("The reason in a sentence, for people.", min_length=1, max_length=10240)
    ] = ""


class Condition(Model, gc=False, kw_only=True):
    """What can be said about one aspect of an object, and since when."""

    ZEROS: ClassVar[bool] = True

    type: Annotated[
        str, rules("Which aspect this is about.", max_length=316, pattern=QUALIFIED_NAME)
    ]
    status: Annotated[str, rules("True, False or Unknown.", enum=["True", "False", "Unknown"])]
    observed_generation: Annotated[
        int | None,
        rules("The generation of the object that this was said about.", format="int64", minimum=0),
    ] = None
    last_transition_time: Annotated[
        str, rules("When the status changed last.", format="date-time", required=True)
    ] = ""
    reason: Annotated[
        str,
        rules(
            "Why the status is what it is, in one word for programs.",
            min_length=1,
            max_length=1024,
            pattern=REASON,
        ),
    ]
    message: Annotated[
        str, rules("The reason in a sentence, for people; may be empty.", max_length=32768)
    ]
