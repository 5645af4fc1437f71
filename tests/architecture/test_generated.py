"""Files that are generated are current."""

import json

from openapi_spec_validator import OpenAPIV31SpecValidator
from scripts import write_openapi
from scripts.unasync import SOURCE, TARGET, blocking


def test_blocking_is_what_is_generated_from_the_engine() -> None:
    written = TARGET.read_text(encoding="utf-8")

    assert written == blocking(SOURCE.read_text(encoding="utf-8")), "run `make generate`"


def test_the_openapi_document_is_what_is_generated_from_the_table() -> None:
    assert write_openapi.TARGET.read_bytes() == write_openapi.content(), "run `make generate`"


def test_the_openapi_document_is_valid() -> None:
    described = json.loads(write_openapi.TARGET.read_bytes())

    assert [error.message for error in OpenAPIV31SpecValidator(described).iter_errors()] == []
