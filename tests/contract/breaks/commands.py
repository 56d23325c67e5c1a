"""Promises of clusterctl's commands but `move`, broken rule by rule."""

from __future__ import annotations

from typing import Final

from tests.contract.breaks.broken import Break

_SETTINGS: Final = "clusterctl/config/test_settings.py"
_FAR: Final = "clusterctl/repository/test_github_and_gitlab.py"
_NEAR: Final = "clusterctl/repository/test_folders.py"
_METADATA: Final = "clusterctl/test_metadata.py"
_COMPONENTS: Final = "clusterctl/test_components.py"
_INSTALL: Final = "clusterctl/test_install.py"
_TEMPLATES: Final = "clusterctl/test_templates.py"
_VARIABLES: Final = "clusterctl/test_variables.py"
_GENERATE: Final = "cli/test_generate.py"

PROVIDERS: Final = (
    Break(
        "addons are no providers",
        "clusterctl/config/providers.py",
        "    ProviderType.ADDON,\n)",
        ")",
        {
            f"{_SETTINGS}::test_providers_of_every_type_can_be_configured": (
                "clusterctl/any-provider",
            )
        },
    ),
    Break(
        "an entry of the file takes nobody's place",
        "clusterctl/config/providers.py",
        "sorted((by_name | own).values()",
        "sorted((own | by_name).values()",
        {
            f"{_SETTINGS}::test_a_configured_provider_replaces_a_predefined_one": (
                "clusterctl/list",
            )
        },
    ),
    Break(
        "two providers may have one name and type",
        "clusterctl/config/providers.py",
        "if own.setdefault((provider.name, provider.type), provider) is not provider:",
        "if own.setdefault((provider.name, provider.type), provider) is None:",
        {f"{_SETTINGS}::test_a_provider_that_breaks_a_rule_is_reported": ("clusterctl/names",)},
    ),
    Break(
        "any text is a name",
        "clusterctl/config/providers.py",
        "if errors := dns_label_errors(name):",
        "if errors := []:",
        {f"{_SETTINGS}::test_a_provider_that_breaks_a_rule_is_reported": ("clusterctl/names",)},
    ),
    Break(
        "who leaves out the organisation is not told the whole name",
        "clusterctl/config/providers.py",
        'near = [item for item in names if name and item.endswith(f"-{name}")]',
        "near = list[str]()",
        {
            f"{_SETTINGS}::test_an_unknown_provider_is_reported_with_the_nearest_names": (
                "clusterctl/prefixes",
            )
        },
    ),
    Break(
        "a predefined provider has no organisation before its name",
        "clusterctl/config/providers.py",
        '"rancher-fleet": "rancher/',
        '"fleet": "rancher/',
        {
            f"{_SETTINGS}::test_predefined_providers_of_other_organisations_have_their_prefix": (
                "clusterctl/prefixes",
            )
        },
    ),
    Break(
        "core has a prefix, too",
        "clusterctl/provider.py",
        "return name if provider_type is ProviderType.CORE else",
        "return name if False else",
        {
            f"{_SETTINGS}::test_predefined_providers_have_the_labels_of_the_contract": (
                "clusterctl/label-names",
            )
        },
    ),
    Break(
        "any tag is a version",
        "clusterctl/repository/releases.py",
        "if (version := semantic(tag)) is not None}",
        'if (version := semantic(tag) or parse("0.0.0")) is not None}',
        {f"{_FAR}::test_tags_that_are_no_versions_do_not_count": ("clusterctl/github",)},
    ),
    Break(
        "one page of releases is read",
        "clusterctl/repository/github.py",
        "            if len(releases) < _PAGE:\n                break\n        return newest_first",
        "            break\n        return newest_first",
        {f"{_FAR}::test_all_pages_of_releases_are_read": ("clusterctl/github",)},
    ),
    Break(
        "GOPROXY=off asks the proxies after it",
        "clusterctl/repository/github.py",
        '        if text in ("off", "direct"):\n            break\n',
        "",
        {f"{_FAR}::test_goproxy_is_read_as_go_reads_it": ("clusterctl/go-proxy",)},
    ),
    Break(
        "a package of GitLab needs no version in its url",
        "clusterctl/repository/gitlab.py",
        "if semantic(path[7]) is None:",
        "if False:",
        {f"{_NEAR}::test_a_url_that_is_no_repository_s_is_reported": ("clusterctl/gitlab",)},
    ),
    Break(
        "files of another version of a package are read",
        "clusterctl/repository/gitlab.py",
        'url = f"{self.place}/{version}/{name}"',
        'url = f"{self.place}/{self.default}/{name}"',
        {
            f"{_FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named": (
                "clusterctl/gitlab",
            )
        },
    ),
    Break(
        "folders of any name are releases",
        "clusterctl/repository/folder.py",
        "    if folder.name != label:",
        "    if False:",
        {
            f"{_NEAR}::test_a_url_that_is_no_repository_s_is_reported": (
                "clusterctl/folder",
                "clusterctl/version-folder",
            )
        },
    ),
    Break(
        "one mistake of metadata.yaml is told",
        "clusterctl/metadata.py",
        "if mistakes := list(_metadata_errors(document)):",
        "if mistakes := list(_metadata_errors(document))[:1]:",
        {f"{_METADATA}::test_every_mistake_of_the_file_is_reported": ("clusterctl/metadata-told",)},
    ),
    Break(
        "a version that belongs to no series is taken",
        "clusterctl/metadata.py",
        "if (release_series.major, release_series.minor) == (release.major, release.minor):",
        "if release_series.major <= release.major:",
        {
            f"{_METADATA}::test_a_version_without_a_release_series_is_refused": (
                "clusterctl/metadata-counts",
                "clusterctl/release-in-series",
            )
        },
    ),
)

COMPONENTS: Final = (
    Break(
        "an object of the components is left out",
        "clusterctl/components/reading.py",
        "return [*first, *reversed(of_cert_manager), *rest]",
        "return [*first, *reversed(of_cert_manager), *rest[1:]]",
        {f"{_COMPONENTS}::test_every_object_of_the_file_is_there": ("clusterctl/installed",)},
    ),
    Break(
        "without a Namespace, default is the target",
        "clusterctl/components/reading.py",
        "    if not namespace:\n",
        '    namespace = namespace or "default"\n    if not namespace:\n',
        {
            f"{_COMPONENTS}::test_components_that_violate_the_contract_are_refused": (
                "clusterctl/namespace-needed",
            )
        },
    ),
    Break(
        "a second Namespace is let through",
        "clusterctl/components/reading.py",
        "    if len(own) > 1:",
        "    if False:",
        {
            f"{_COMPONENTS}::test_components_that_violate_the_contract_are_refused": (
                "clusterctl/namespaces-refused",
                "clusterctl/one-namespace",
            )
        },
    ),
    Break(
        "a manager keeps to the namespace that it was told",
        "clusterctl/components/reading.py",
        "        watch_everything(document)\n",
        "",
        {f"{_COMPONENTS}::test_a_manager_watches_all_namespaces": ("clusterctl/watching",)},
    ),
    Break(
        "a missing label is not warned of",
        "clusterctl/components/checks.py",
        "    yield from _labels(documents, provider)\n",
        "",
        {
            f"{_COMPONENTS}::test_rules_that_upstream_does_not_enforce_are_warnings": (
                "clusterctl/rules-told",
                "clusterctl/labels",
            )
        },
    ),
    Break(
        "blanks around a variable are not left out",
        "clusterctl/variables.py",
        'return _WITH_SPACES.sub(lambda match: f"${{{match[1] or match[2]}}}", text)',
        "return text",
        {f"{_VARIABLES}::test_blanks_around_a_name_are_left_out": ("clusterctl/substitution",)},
    ),
    Break(
        "defaults are not filled in",
        "clusterctl/envsubst/__init__.py",
        '        return value or "".join(arguments)\n',
        "        return value\n",
        {
            f"{_COMPONENTS}::test_variables_are_filled_in_and_listed": ("clusterctl/functions",),
        },
    ),
    Break(
        "a function of envsubst is another one",
        "clusterctl/envsubst/functions.py",
        '    "^^": _upper,\n',
        '    "^^": _lower,\n',
        {
            f"{_VARIABLES}::test_functions_change_values_as_in_envsubst": ("clusterctl/functions",),
        },
    ),
    Break(
        "one value that is missing is named",
        "clusterctl/variables.py",
        "        raise MissingVariables(missing)\n",
        "        raise MissingVariables(missing[:1])\n",
        {
            f"{_VARIABLES}::test_all_missing_variables_are_named_at_once": (
                "clusterctl/substitution-refused",
            )
        },
    ),
    Break(
        "variables are not described",
        "cli/generate_provider.py",
        '("Variables", components.variables)',
        '("Variables", ())',
        {
            f"{_GENERATE}::test_a_provider_is_described_with_its_variables": (
                "clusterctl/variables-listed",
                "clusterctl/variables-told",
            )
        },
    ),
    Break(
        "objects of the components do not get the labels",
        "clusterctl/components/reading.py",
        "        _label(document, provider)\n",
        "",
        {
            f"{_COMPONENTS}::test_every_object_has_the_labels_of_the_provider_and_keeps_its_own": (
                "clusterctl/components-changed",
            )
        },
    ),
    Break(
        "objects of the components stay where they were",
        "clusterctl/components/reading.py",
        "        move_to(document, namespace)\n",
        "",
        {
            f"{_COMPONENTS}::test_everything_is_in_the_target_namespace": (
                "clusterctl/components-changed",
                "clusterctl/in-namespace",
            )
        },
    ),
)

TEMPLATES: Final = (
    Break(
        "a flavour is not asked for",
        "clusterctl/templates/generate.py",
        "name = cluster_template(source.flavor)",
        "name = cluster_template()",
        {f"{_TEMPLATES}::test_a_flavor_has_a_file_of_its_own": ("clusterctl/templates-found",)},
    ),
    Break(
        "who asks for a template that is not there is not told those that are",
        "clusterctl/repository/folder.py",
        "files = await self.files(version)\n",
        'return ""\n',
        {
            f"{_NEAR}::test_a_missing_file_is_reported_with_the_existing_ones": (
                "clusterctl/templates-found",
                "clusterctl/flavors-told",
                "clusterctl/template-names",
            )
        },
    ),
    Break(
        "flags do not count",
        "clusterctl/templates/generate.py",
        ("    if count is not None:\n        return count\n"),
        "",
        {
            f"{_TEMPLATES}::test_machine_counts_come_from_flags_the_environment_or_defaults": (
                "clusterctl/common-values",
            )
        },
    ),
    Break(
        "the name of the cluster is not filled in",
        "clusterctl/templates/generate.py",
        '    variables.set("CLUSTER_NAME", options.name)\n',
        "",
        {
            f"{_TEMPLATES}::test_a_template_is_filled_and_put_into_one_namespace": (
                "clusterctl/common-values",
                "clusterctl/common-variables",
            )
        },
    ),
    Break(
        "the class of a template is not looked for",
        "clusterctl/templates/classes.py",
        "    if not keys:\n        return template\n",
        "    if keys or not keys:\n        return template\n",
        {
            f"{_TEMPLATES}::test_a_cluster_class_comes_before_the_cluster_that_is_made_of_it": (
                "clusterctl/classes-found",
                "clusterctl/class-names",
            )
        },
    ),
    Break(
        "a class that is there is printed again",
        "clusterctl/templates/classes.py",
        "if client is not None and await _exists(client, _CLASSES, key):",
        "if False:",
        {
            f"{_TEMPLATES}::test_a_cluster_class_that_is_there_is_left_out": (
                "clusterctl/classes-added",
            )
        },
    ),
    Break(
        "half a class is added to",
        "clusterctl/templates/classes.py",
        "            await _refuse_duplicates(client, results)\n",
        "            pass\n",
        {
            f"{_TEMPLATES}::test_an_incomplete_cluster_class_is_not_completed": (
                "clusterctl/classes-added",
            )
        },
    ),
    Break(
        "objects of a template stay in their namespaces",
        "clusterctl/templates/generate.py",
        "template_of(text, config.variables, options.namespace, name)",
        'template_of(text, config.variables, "default", name)',
        {
            f"{_TEMPLATES}::test_a_template_is_filled_and_put_into_one_namespace": (
                "clusterctl/templates-changed",
                "clusterctl/template-one-namespace",
            )
        },
    ),
    Break(
        "what a file refers to has to be in it",
        "clusterctl/components/reading.py",
        "    images = tuple(images_of(documents))\n",
        "    images = tuple(images_of(documents))\n"
        "    for each in documents:\n"
        '        role = (each.get("roleRef") or {}).get("name")\n'
        '        if role and role not in {(one.get("metadata") or {}).get("name") '
        "for one in documents}:\n"
        '            raise ComponentsError(f"{role} is not there")\n',
        {
            f"{_COMPONENTS}::test_referenced_objects_may_be_missing_in_the_file": (
                "clusterctl/links-left",
                "clusterctl/links",
            )
        },
    ),
)

COMMANDS: Final = (*PROVIDERS, *COMPONENTS, *TEMPLATES)
