"""Defects in the pages that the embedded cluster's API has about itself."""

from __future__ import annotations

from proofs.planted.defect import Defect

_DOCUMENTS = "twin/tests/contract/test_documents.py::"

TWIN_DOCUMENTS: tuple[Defect, ...] = (
    Defect(
        "a page that a client has is sent again",
        "twin/api/openapi_pages.py",
        'if response.headers["Etag"] in known or "*" in known:',
        "if not known:",
        f"{_DOCUMENTS}test_a_page_is_not_read_again",
    ),
    Defect(
        "an address with an old hash shows today's document",
        "twin/api/openapi_pages.py",
        "if given and given != _hash(content):",
        "if given is None:",
        f"{_DOCUMENTS}test_an_openapi_document_is_named_by_its_content",
    ),
    Defect(
        "an object is written before its answer's form is looked at",
        "twin/api/router.py",
        'if attributes.name or request.method != "GET":',
        "if False:",
        f"{_DOCUMENTS}test_the_form_is_looked_at_first",
    ),
    Defect(
        "every operation of a subresource is about its owner",
        "twin/api/openapi_paths.py",
        '"kind": entry["kind"],',
        '"kind": owner,',
        f"{_DOCUMENTS}test_operations_say_what_they_are_about",
    ),
)
