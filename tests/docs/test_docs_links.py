"""Links between pages lead somewhere, and every page is in the site's navigation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import DOCS, PAGES, PROJECT, anchors, links, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_of_a_page_lead_to_files_and_headings_that_exist(page: Path) -> None:
    for link in links(page):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        target, _, anchor = link.partition("#")
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{link} leads to no file"
        if anchor:
            assert anchor in anchors(file), f"{link}: {name_of(file)} has no such heading"


def test_the_site_leads_to_every_page_and_to_none_that_is_missing() -> None:
    navigation = (PROJECT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"[\w/-]+\.md", navigation)
    assert sorted(listed) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_the_readme_leads_into_the_documentation() -> None:
    told = links(PROJECT / "README.md")
    for page in ("docs/tutorial.md", "docs/architecture.md", "docs/coverage.md", "docs/not-promised.md"):
        assert page in told
