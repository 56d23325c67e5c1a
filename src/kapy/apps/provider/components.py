"""The objects of a provider's components file.

Webhooks need a Service and configurations. There is no certificate among the objects: the program
creates one and injects its CA (`kapy.apps.program.webhook_serving`), or uses cert-manager's if its
Secret exists.

Contract: "Components YAML" of the clusterctl provider contract.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapy.api.names import Label
from kapy.apps.components.objects import object_of, of_provider, with_labels
from kapy.apps.components.pods import (
    CONTAINER,
    HEALTH,
    POD,
    SELECTOR_LABELS,
    TOLERATIONS,
    port,
    probes,
)
from kapy.apps.components.programs import (
    HEALTH_PORT,
    METRICS,
    METRICS_PORT,
    disruption_budget,
    leader_election_role,
)
from kapy.apps.components.rules import binding, role
from kapy.apps.components.serving import PORT, SERVER, client_config, secret_of, webhook_service
from kapy.apps.manager.rights import AGGREGATED
from kapy.apps.provider.definitions import crds_of
from kapy.apps.provider.rights import core_rules, program_rules
from kapy.clusterctl.components.images import MANAGER
from kapy.kube import Document
from kapy.sdk.admission import Rulebook
from kapy.sdk.admission_configurations import webhook_configurations
from kapy.sdk.provider import Provider, Setting


def webhooks_of(
    rules: Rulebook, prefix: str, namespace: str, selector: dict[str, str]
) -> list[Document]:
    """Return the Service and the configurations of the webhooks. selector: the labels of the Pods
    of the program.
    """
    client = client_config(prefix, namespace)
    return [
        webhook_service(prefix, namespace, selector),
        *webhook_configurations(rules, f"{prefix}-webhook-configuration", client),
    ]


def components_of(provider: Provider, version: str, image: str = "") -> list[Document]:
    """Return the objects, in the order in which they are applied. image: replaces the provider's
    own image, whose tag is the version. Raises BadProvider.
    """
    prefix, labels = prefix_of(provider), _selector(provider)
    namespace, account = namespace_of(provider), f"{prefix}-manager"
    definitions = crds_of(provider, client_config(prefix, namespace))
    answered = list[Document]()
    if provider.admission.kinds:
        answered = webhooks_of(provider.admission, prefix, namespace, labels)
    objects = [
        object_of("v1", "Namespace", namespace),
        *definitions,
        object_of("v1", "ServiceAccount", account, namespace),
        *_roles(provider, account, namespace, [*definitions, *answered] if answered else []),
        _deployment(provider, image or f"{provider.image}:{version}", account, namespace),
        disruption_budget(prefix, namespace, labels),
        *answered,
    ]
    return [of_provider(obj, provider.label) for obj in objects]


def prefix_of(provider: Provider) -> str:
    """Return the prefix of the names of a provider's objects; infrastructure providers omit their
    type.
    """
    name, of_type = provider.name, provider.type
    return name if of_type == "infrastructure" else f"{name}-{of_type}"


def namespace_of(provider: Provider) -> str:
    """Return the default namespace of a provider."""
    return f"{prefix_of(provider)}-system"


def lease_of(provider: Provider) -> str:
    """Return the name of a provider's Lease for leader election."""
    return f"{provider.label}-leader-election"


def _roles(
    provider: Provider, account: str, namespace: str, trusting: Sequence[Document]
) -> list[Document]:
    prefix = prefix_of(provider)
    granted = role(f"{account}-role", program_rules(provider, trusting))
    secret = secret_of(prefix) if trusting else ""
    objects = [
        *leader_election_role(prefix, namespace, account, secret),
        granted,
        binding(granted, f"{account}-rolebinding", account, namespace),
    ]
    if rules := core_rules(provider):
        for_core = role(f"{prefix}-for-core", rules)
        objects.append(with_labels(for_core, dict.fromkeys(AGGREGATED.values(), "true")))
    return objects


def _selector(provider: Provider) -> dict[str, str]:
    return {Label.PROVIDER: provider.label, **SELECTOR_LABELS}


def _deployment(provider: Provider, image: str, account: str, namespace: str) -> Document:
    labels = _selector(provider)
    pod: Document = {
        "containers": [_container(provider, image)],
        "securityContext": POD,
        "serviceAccountName": account,
        "terminationGracePeriodSeconds": 10,
        "tolerations": TOLERATIONS,
        "volumes": [{"name": "tmp", "emptyDir": {}}],
    }
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    name = f"{prefix_of(provider)}-controller-manager"
    return with_labels(object_of("apps/v1", "Deployment", name, namespace, spec=spec), labels)


def _container(provider: Provider, image: str) -> Document:
    container: Document = {
        "name": MANAGER,
        "image": image,
        "args": ["--leader-elect"],
        "ports": [port(HEALTH, HEALTH_PORT), port(METRICS, METRICS_PORT)],
        **probes(),
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": CONTAINER,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"mountPath": "/tmp", "name": "tmp"}],
    }
    if provider.settings:
        container["env"] = [
            {"name": setting.name, "value": _variable(setting)} for setting in provider.settings
        ]
    if provider.admission.kinds:
        container["ports"].append(port(SERVER, PORT))
    return container


def _variable(setting: Setting) -> str:
    """Return a clusterctl variable that the user of the release can set."""
    return (
        f"${{{setting.name}}}"
        if setting.default is None
        else f"${{{setting.name}:={setting.default}}}"
    )
