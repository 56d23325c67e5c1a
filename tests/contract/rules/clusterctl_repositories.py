"""Section 1 of the clusterctl provider contract: where releases are."""

from __future__ import annotations

from typing import Final

from tests.contract.rules.rule import Rule

FAR: Final = "clusterctl/repository/test_far.py"
NEAR: Final = "clusterctl/repository/test_near.py"
SETTINGS: Final = "clusterctl/config/test_settings.py"
BROKEN: Final = f"{SETTINGS}::test_a_provider_that_breaks_a_rule_is_told"
URLS: Final = f"{NEAR}::test_a_url_that_is_no_repository_s_is_told"
PROVIDERS: Final = "clusterctl/config/providers.py"
GITHUB: Final = "clusterctl/repository/github.py"
GITLAB: Final = "clusterctl/repository/gitlab.py"
FOLDER: Final = "clusterctl/repository/folder.py"

RULES: Final = [
    Rule(
        "1 Overview",
        "kapy",
        (8,),
        "The command works with every provider that keeps these rules; released ones do.",
        ("clusterctl/install/__init__.py",),
        ("oracle/test_clusterctl.py::test_a_management_cluster_becomes_what_upstream_made_of_it",),
    ),
    Rule(
        "1.1 Provider repositories",
        "MUST",
        (12, 14, 16, 17),
        "A provider publishes its releases at a known place: metadata and components, or a version "
        "cannot be used, and it is said which file is missing.",
        ("clusterctl/repository/__init__.py", "clusterctl/provider_files.py"),
        (
            f"{NEAR}::test_what_a_folder_does_not_have_is_told_with_what_it_has",
            f"{FAR}::test_an_asset_that_a_release_does_not_have_is_told",
        ),
    ),
    Rule(
        "1.1 Provider repositories",
        "SHOULD",
        (19, 21, 23, 25),
        "It also has templates of workload clusters, and perhaps ClusterClasses.",
        ("clusterctl/templates/sources.py", "clusterctl/templates/classes.py"),
        (
            "clusterctl/test_templates.py::test_a_template_is_filled_and_put_into_one_namespace",
            "clusterctl/test_templates.py::"
            "test_a_cluster_class_comes_before_the_cluster_that_is_made_of_it",
        ),
    ),
    Rule(
        "1.1 Provider repositories",
        "kapy",
        (32,),
        "The list of providers is changed and extended by the configuration file.",
        (PROVIDERS,),
        (f"{SETTINGS}::test_an_entry_of_the_file_takes_a_predefined_provider_s_place",),
    ),
    Rule(
        "1.2 Names of providers",
        "MUST",
        (46,),
        "Name and type together are unique; a second one in the configuration file is refused.",
        (PROVIDERS,),
        (BROKEN, f"{SETTINGS}::test_predefined_providers_have_the_labels_of_the_contract"),
    ),
    Rule(
        "1.2 Names of providers",
        "MUST",
        (47, 48),
        "A name is of lower case letters, digits and `-`, begins and ends with a letter or digit, "
        "and has at most 63 characters.",
        (PROVIDERS,),
        (BROKEN,),
    ),
    Rule(
        "1.2 Names of providers",
        "SHOULD",
        (49, 60),
        "Predefined providers of other GitHub organisations have the organisation's name before "
        "theirs; older ones need not. Who asks for one without it is told the whole name.",
        ("clusterctl/config/predefined.py", PROVIDERS),
        (f"{SETTINGS}::test_an_unknown_provider_is_told_with_the_nearest_names",),
    ),
    Rule(
        "1.2 Names of providers",
        "kapy",
        (56, 62),
        "Any provider can be used through the configuration file, with any name: the prefix is "
        "never asked for there.",
        (PROVIDERS,),
        (f"{SETTINGS}::test_an_entry_of_the_file_takes_a_predefined_provider_s_place",),
    ),
    Rule(
        "1.3 GitHub",
        "MUST",
        (66, 68, 70, 71),
        "Releases are tagged with semantic versions, and have components, metadata and templates "
        "as assets; other tags do not count.",
        (GITHUB, "clusterctl/repository/tags.py"),
        (
            f"{FAR}::test_without_a_go_proxy_github_s_api_is_asked",
            f"{FAR}::test_all_pages_of_releases_are_read",
        ),
    ),
    Rule(
        "1.3 GitHub",
        "kapy",
        (75,),
        "Versions are detected through a Go module proxy, which saves requests to GitHub's API.",
        (GITHUB, "clusterctl/repository/goproxy.py"),
        (f"{FAR}::test_with_a_go_proxy_github_s_api_is_not_asked",),
    ),
    Rule(
        "1.3 GitHub",
        "kapy",
        (75,),
        "GOPROXY is read as Go reads it; with `off` or `direct`, GitHub is asked, which helps "
        "where Go does not understand a provider's versions.",
        ("clusterctl/repository/goproxy.py",),
        (
            f"{FAR}::test_goproxy_is_read_as_go_reads_it",
            f"{FAR}::test_without_a_go_proxy_github_s_api_is_asked",
        ),
    ),
    Rule(
        "1.4 GitLab",
        "kapy",
        (79, 81, 83),
        "Generic packages are read from `https://gitlab.…/api/v4/projects/PROJECT/packages/generic/"
        "PACKAGE/VERSION/FILE`; PROJECT is a number or an escaped path, VERSION semantic.",
        (GITLAB,),
        (
            f"{FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named",
            URLS,
        ),
    ),
    Rule(
        "1.4 GitLab",
        "kapy",
        (85, 87, *range(90, 106), 107, *range(108, 114)),
        "A predefined provider can be read from a GitLab of one's own, by an entry of its name.",
        (PROVIDERS, GITLAB),
        (
            f"{SETTINGS}::test_an_entry_of_the_file_takes_a_predefined_provider_s_place",
            f"{FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named",
        ),
    ),
    Rule(
        "1.4 GitLab",
        "kapy",
        (115,),
        "Versions cannot be listed there: the url names one, and upgrades have to.",
        (GITLAB,),
        (f"{FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named", URLS),
    ),
    Rule(
        "1.5 Local repositories",
        "MUST",
        (119, 121, 124),
        "A folder `LABEL/VERSION/` has the files of a release; VERSION is semantic.",
        (FOLDER,),
        (f"{NEAR}::test_a_folder_is_a_repository", URLS),
    ),
]
