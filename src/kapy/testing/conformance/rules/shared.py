"""Rules that the five documents about kinds share word for word."""

from __future__ import annotations

from kapy.contract.fields import Level
from kapy.testing.conformance.rules.rule import CheckMethod, Rows, Rule

CLASSES = "the provider's kinds are used in ClusterClasses"


def general(rows: Rows, kind: str) -> list[Rule]:
    """Add the rules for all resources."""
    group, version = "All resources: API group", "All resources: version"
    return [
        rows.must(
            "internals",
            "Never rely on Cluster API behaviours not defined as a contract rule!",
            "Nothing is relied on but the contract; what is missing there is asked for upstream.",
            CheckMethod.AUTHOR,
        ),
        rows.must(
            "scope",
            "All resources: scope",
            f"CRDs of {kind}, and of its template, have scope Namespaced.",
            CheckMethod.STATIC,
        ),
        rows.must(
            "metadata",
            "All resources: TypeMeta and ObjectMeta field",
            "Objects have apiVersion, kind and metadata, as all objects of Kubernetes.",
            CheckMethod.STATIC,
        ),
        rows.must(
            "rights",
            group,
            "In an API group that is not Cluster API's own, core is granted reading and writing by "
            'a ClusterRole with the label cluster.x-k8s.io/aggregate-to-manager: "true".',
            CheckMethod.STATIC,
            "the API group is not one that core has rights in anyway",
        ),
        rows.must(
            "owner-finalizers",
            group,
            "Whoever makes owner references with blockOwnerDeletion may update the finalizers of "
            "the owner.",
            when="owner references block the deletion of their owner",
        ),
        rows.should(
            "deprecation",
            version,
            "API versions come and go by the deprecation policy of Kubernetes.",
            CheckMethod.AUTHOR,
        ),
        rows.must(
            "contract-label",
            version,
            f"CRDs of {kind} have a label cluster.x-k8s.io/v1beta2 or /v1beta1, which lists the "
            "versions that keep that contract.",
            CheckMethod.STATIC,
        ),
        rows.must(
            "label-versions",
            version,
            "Each version in such a label is one that the CRD has, and the one that core picks of "
            "the newest contract's is served.",
            CheckMethod.STATIC,
        ),
        rows.must(
            "metadata-contract",
            version,
            "The contract that metadata.yaml has for the release is among those of the labels.",
            CheckMethod.STATIC,
            "the release has a metadata.yaml",
        ),
    ]


def definition(rows: Rows, kind: str, level: Level, when: str = "") -> list[Rule]:
    """Add the rules about the existence and the name of the kind.

    level: whether the kind must exist; when: the precondition.
    """
    section = f"{kind}, {kind}List resource definition"
    ask = rows.must if level is Level.MUST else rows.should
    return [
        ask("definition", section, f"There is a CRD of {kind}.", CheckMethod.STATIC, when),
        rows.must(
            "crd-name",
            section,
            "CRDs are called <plural>.<group>, with the plural that CalculateCRDName makes of the "
            "kind: core finds them by nothing else.",
            CheckMethod.STATIC,
        ),
        rows.must("list", section, f"The list kind is called <{kind}>List.", CheckMethod.STATIC),
        rows.must(
            "status-subresource",
            section,
            "Served versions with a status have the status subresource.",
            CheckMethod.STATIC,
        ),
    ]


def template(rows: Rows, kind: str, *, always: bool, section: str = "") -> list[Rule]:
    """Add the rules about the template of a kind. always: a template is needed without
    ClusterClasses, too.
    """
    section = section or f"{kind}Template, {kind}TemplateList resource definition"
    ask, when = (rows.must, "") if always else (rows.should, CLASSES)
    return [
        ask("template", section, f"Each {kind} has a template kind.", CheckMethod.STATIC, when),
        rows.must(
            "template-name",
            section,
            f"The template kind is called <{kind}>Template.",
            CheckMethod.STATIC,
            "there is a template kind",
        ),
        rows.must(
            "template-list",
            section,
            f"Its list kind is called <{kind}Template>List.",
            CheckMethod.STATIC,
            "there is a template kind",
        ),
        rows.must(
            "template-spec",
            section,
            f"A template has the spec of a {kind} in spec.template.spec.",
            CheckMethod.STATIC,
            "there is a template kind",
        ),
    ]


def dry_run(rows: Rows, kind: str) -> Rule:
    """Add the rules about dry runs of server-side apply."""
    return rows.must(
        "ssa-dry-run",
        f"{kind}Template: support for SSA dry run",
        "A dry run of the topology controller's server-side apply is not refused because templates "
        "are immutable.",
        when=CLASSES,
    )


def conditions(rows: Rows, kind: str) -> list[Rule]:
    """Add the rules about `status.conditions`."""
    section = f"{kind}: conditions"
    return [
        rows.should(
            "conditions",
            section,
            "status.conditions is a list of conditions with type and status.",
            CheckMethod.STATIC,
        ),
        rows.must(
            "legacy-conditions",
            section,
            "A provider with conditions of Cluster API's legacy type takes into account the "
            "fields that they lack when core shows them.",
            CheckMethod.AUTHOR,
            "conditions have Cluster API's legacy type",
        ),
    ]


def failures(rows: Rows, kind: str) -> Rule:
    """Add the rules about terminal failures."""
    return rows.should(
        "terminal-failures",
        f"{kind}: terminal failures",
        "Conditions with documented types and reasons report failures that cannot be recovered.",
        CheckMethod.AUTHOR,
    )


def in_place(rows: Rows, section: str, controller: str) -> Rule:
    """Add the rules about objects that an update extension changes in place.

    controller: what the object's controller does when the object changes.
    """
    return rows.should(
        "in-place",
        section,
        f"An Update Extension makes changes in place: {controller}, and validation lets fields "
        "change that may change in place.",
        CheckMethod.AUTHOR,
        "updates in place are supported",
    )


def instances(rows: Rows, section: str) -> Rule:
    """Add the rules about --namespace and --watch-filter."""
    return rows.should(
        "instances",
        section,
        "Controllers know --namespace and --watch-filter.",
        when="several instances of the provider may run",
    )


def pausing(rows: Rows, kind: str) -> list[Rule]:
    """Add the rules about pausing."""
    section = f"{kind}: pausing"
    return [
        rows.should(
            "pausing",
            section,
            "Nothing is done while spec.paused of the Cluster, or the annotation "
            "cluster.x-k8s.io/paused of the object, says so.",
        ),
        rows.should("paused-condition", section, "The condition Paused tells of it."),
    ]


def workflow(rows: Rows, section: str, *, owner: str, deletion: str) -> list[Rule]:
    """Add the rules about the steps that all controllers share.

    owner: what the controller waits for first; deletion: what happens to deleted objects.
    """
    return [
        rows.must("watch", section, "New, changed and deleted objects are answered."),
        rows.should("owner", section, f"Nothing is done before {owner}."),
        rows.should(
            "restored",
            section,
            "A finalizer or an owner reference of the provider that got lost is set again.",
            when="the provider sets finalizers or owner references",
        ),
        rows.should("idle", section, "A provider that has nothing to do writes nothing."),
        once(rows, section),
        rows.must("deletion", section, f"{deletion}."),
    ]


def once(rows: Rows, section: str) -> Rule:
    """Add the rule that only faults can test."""
    return rows.should(
        "once",
        section,
        "Nothing is made twice, whatever is lost and whoever crashes between two steps.",
    )


def finalizer(rows: Rows, section: str) -> Rule:
    """Add the rules about the provider's own finalizer."""
    return rows.should(
        "finalizer", section, "The provider's finalizer comes before anything is made."
    )


def old_failures(rows: Rows, kind: str) -> Rule:
    """Add the rules about terminal failures in v1beta1."""
    return rows.should(
        "stopped",
        f"{kind}: terminal failures",
        "The provider leaves a terminally failed object as it is, but deletes it on request.",
        when="status.failureReason or status.failureMessage is set",
    )


def immutable(rows: Rows, kind: str) -> Rule:
    """Add the rules about immutable templates."""
    return rows.must(
        "immutable",
        f"{kind}Template: support for SSA dry run",
        "Nobody but that dry run gets past the check that a template stays as it is.",
        when="templates are immutable",
    )
