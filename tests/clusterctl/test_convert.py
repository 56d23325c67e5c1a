"""Converting manifests: what happens to comments, and what upstream would drop."""

from __future__ import annotations

import pytest

from kapy.clusterctl.convert import CannotConvert, convert
from kapy.kube import yaml

DEPLOYMENT = """\
# licence
apiVersion: cluster.x-k8s.io/v1beta1  # old
kind: MachineDeployment
metadata:
  name: md   # the name
  # nothing to annotate
  annotations: {}
spec:
  # which one
  clusterName: "c # d" # quoted
  minReadySeconds: 5 # seconds
  # was Recreate
  strategy:
    # one after the other
    type: RollingUpdate
  template:
    spec:
      clusterName: c
      bootstrap:
        dataSecretName: s
      # the machines
      infrastructureRef: # of a provider
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: X
        name: x
# end
"""
CONVERTED = """\
# licence
apiVersion: cluster.x-k8s.io/v1beta2 # old
kind: MachineDeployment
# nothing to annotate
metadata:
  name: md # the name
# seconds
spec:
  # which one
  clusterName: 'c # d' # quoted
  paused: false
  rollout:
    # was Recreate
    strategy:
      # one after the other
      type: RollingUpdate
  template:
    # the machines
    # of a provider
    spec:
      bootstrap:
        dataSecretName: s
      clusterName: c
"""
COMPLETE = """\
# licence
apiVersion: cluster.x-k8s.io/v1beta2 # old
kind: MachineDeployment
metadata:
  # nothing to annotate
  annotations: {}
  name: md # the name
spec:
  # which one
  clusterName: 'c # d' # quoted
  rollout:
    # was Recreate
    strategy:
      # one after the other
      type: RollingUpdate
  template:
    spec:
      bootstrap:
        dataSecretName: s
      clusterName: c
      # the machines
      infrastructureRef: # of a provider
        apiGroup: infrastructure.cluster.x-k8s.io
        kind: X
        name: x
      minReadySeconds: 5 # seconds
"""
OTHER = """\
# mine, as I wrote it
kind: ConfigMap
apiVersion: v1
data:
  b: |  # a script
    # no comment
  a: '#neither'
"""


@pytest.mark.parametrize(("complete", "expected"), [(False, CONVERTED), (True, COMPLETE)])
def test_comments_stay_with_their_fields(complete: bool, expected: str) -> None:
    text = convert(DEPLOYMENT, "v1beta2", complete=complete).text
    assert text.partition("status:")[0] == expected
    assert text.endswith("# end\n")


def test_fields_that_upstream_drops_are_reported() -> None:
    assert convert(DEPLOYMENT, "v1beta2").losses == (
        "MachineDeployment md: spec.template.spec.infrastructureRef is left out (X x)",
        "MachineDeployment md: spec.template.spec.minReadySeconds is left out (5)",
    )
    assert convert(DEPLOYMENT, "v1beta2", complete=True).losses == ()


OF_A_SERVER = """\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: c, creationTimestamp: null}
status: {infrastructureReady: true}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: ClusterClass
metadata: {name: cc}
spec:
  patches:
  - {name: p, definitions: [{selector: {matchResources: {controlPlane: true}}}]}
  variables:
  - {name: v, schema: {openAPIV3Schema: {type: object, items: {type: string}}}}
"""
_FLAGS = {
    "exclusiveMaximum": False,
    "exclusiveMinimum": False,
    "uniqueItems": False,
    "x-kubernetes-int-or-string": False,
    "x-kubernetes-preserve-unknown-fields": False,
}


def test_unset_fields_are_written_as_upstream_does() -> None:
    result = convert(OF_A_SERVER, "v1beta2")
    assert result.losses == (
        'Cluster c: status.initialization is left out ({"infrastructureProvisioned": true})',
    )
    cluster, cluster_class = yaml.load_all(result.text)
    assert cluster["spec"] == {"paused": False}
    assert "status" not in cluster
    (patch,), (variable,) = (cluster_class["spec"][item] for item in ("patches", "variables"))
    matched = {"controlPlane": True, "infrastructureCluster": False}
    assert patch["definitions"][0]["selector"]["matchResources"] == matched
    schema = {"type": "object", "items": {"type": "string", **_FLAGS}, **_FLAGS}
    assert variable["schema"]["openAPIV3Schema"] == schema


def test_other_documents_pass_and_are_as_written_where_they_have_comments() -> None:
    result = convert(f"{OTHER}---\n{DEPLOYMENT}---\nkind: B\napiVersion: a/v1\n", "v1beta2")
    assert (result.converted, result.passed_through) == (1, 2)
    first, _, rest = result.text.partition("---\n")
    assert first == OTHER
    assert rest.endswith("---\napiVersion: a/v1\nkind: B\n")


def test_a_comment_on_a_folded_line_moves_above_it() -> None:
    words = " ".join(["word"] * 30)
    text = convert(
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n"
        f"metadata:\n  name: c\n  annotations:\n    long: {words} # long\n",
        "v1beta2",
    ).text
    lines = text.splitlines()
    assert lines[lines.index("    # long") + 1].startswith("    long: word word")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: [\n", "document at index 0: f.yaml: line 3: "),
        ("# one\na: b\n", "document at index 0: f.yaml: line 1: the object has no apiVersion"),
        ("apiVersion: v1\nkind: A\n---\n# only words\n", "index 1: f.yaml: line 4: Object 'Kind'"),
        ("- a\n", "line 1: the document is no object with apiVersion and kind"),
        (
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Foo\n",
            "Kind=Foo at index 0: target GVK cluster.x-k8s.io/v1beta2, Kind=Foo not recognized",
        ),
        (
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nspec: {paused: x}\n",
            r"Kind=Cluster at index 0: .*spec\.paused: Expected `bool`, got `str`",
        ),
    ],
)
def test_a_document_that_cannot_be_converted_is_reported_with_its_place(
    text: str, message: str
) -> None:
    with pytest.raises(CannotConvert, match=message):
        convert(text, "v1beta2", "f.yaml")
