"""Section 1 of the clusterctl provider contract: where releases are."""

from __future__ import annotations

from typing import Final

from tests.contract.rules.row import Row

FAR: Final = "clusterctl/repository/test_github_and_gitlab.py"
NEAR: Final = "clusterctl/repository/test_folders.py"
SETTINGS: Final = "clusterctl/config/test_settings.py"
BROKEN: Final = f"{SETTINGS}::test_a_provider_that_breaks_a_rule_is_reported"
URLS: Final = f"{NEAR}::test_a_url_that_is_no_repository_s_is_reported"
PROVIDERS: Final = "clusterctl/config/providers.py"
GITHUB: Final = "clusterctl/repository/github.py"
GITLAB: Final = "clusterctl/repository/gitlab.py"
FOLDER: Final = "clusterctl/repository/folder.py"

ROWS: Final = [
    Row(
        ("any-provider",),
        (8,),
        ("clusterctl/install/__init__.py",),
        (
            "oracle/test_clusterctl.py::test_a_command_leaves_the_same_management_cluster_as_upstream",
        ),
    ),
    Row(
        ("repository", "metadata-told"),
        (12, 14, 16, 17),
        ("clusterctl/repository/__init__.py", "clusterctl/provider.py"),
        (
            f"{NEAR}::test_a_missing_file_is_reported_with_the_existing_ones",
            f"{FAR}::test_an_asset_that_a_release_does_not_have_is_reported",
        ),
    ),
    Row(
        ("templates",),
        (19, 21, 23, 25),
        ("clusterctl/templates/sources.py", "clusterctl/templates/classes.py"),
        (
            "clusterctl/test_templates.py::test_a_template_is_filled_and_put_into_one_namespace",
            "clusterctl/test_templates.py::"
            "test_a_cluster_class_comes_before_the_cluster_that_is_made_of_it",
        ),
    ),
    Row(
        ("list",),
        (32,),
        (PROVIDERS,),
        (f"{SETTINGS}::test_a_configured_provider_replaces_a_predefined_one",),
    ),
    Row(
        ("names",),
        (46,),
        (PROVIDERS,),
        (BROKEN, f"{SETTINGS}::test_predefined_providers_have_the_labels_of_the_contract"),
    ),
    Row(("names",), (47, 48), (PROVIDERS,), (BROKEN,)),
    Row(
        ("prefixes",),
        (49, 60),
        (PROVIDERS,),
        (
            f"{SETTINGS}::test_predefined_providers_of_other_organisations_have_their_prefix",
            f"{SETTINGS}::test_an_unknown_provider_is_reported_with_the_nearest_names",
        ),
    ),
    Row(
        ("list", "prefixes"),
        (56, 62),
        (PROVIDERS,),
        (f"{SETTINGS}::test_a_configured_provider_replaces_a_predefined_one",),
    ),
    Row(
        ("github",),
        (66, 68, 70, 71),
        (GITHUB, "clusterctl/repository/releases.py"),
        (
            f"{FAR}::test_without_a_go_proxy_github_s_api_is_asked",
            f"{FAR}::test_all_pages_of_releases_are_read",
        ),
    ),
    Row(
        ("go-proxy",),
        (75,),
        (GITHUB,),
        (f"{FAR}::test_with_a_go_proxy_github_s_api_is_not_asked",),
    ),
    Row(
        ("go-proxy",),
        (75,),
        (GITHUB,),
        (
            f"{FAR}::test_goproxy_is_read_as_go_reads_it",
            f"{FAR}::test_without_a_go_proxy_github_s_api_is_asked",
        ),
    ),
    Row(
        ("gitlab",),
        (79, 81, 83),
        (GITLAB,),
        (
            f"{FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named",
            URLS,
        ),
    ),
    Row(
        ("gitlab",),
        (85, 87, *range(90, 106), 107, *range(108, 114)),
        (PROVIDERS, GITLAB),
        (
            f"{SETTINGS}::test_a_configured_provider_replaces_a_predefined_one",
            f"{FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named",
        ),
    ),
    Row(
        ("gitlab",),
        (115,),
        (GITLAB,),
        (f"{FAR}::test_gitlab_s_packages_are_read_and_their_version_has_to_be_named", URLS),
    ),
    Row(
        ("version-folder", "folder"),
        (119, 121, 124),
        (FOLDER,),
        (f"{NEAR}::test_a_local_folder_is_a_repository", URLS),
    ),
]
