"""Log lines as JSON and as text."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from containers.log_format import FIELDS, JsonFormatter, StandardError, TextFormatter
from containers.request_record import RequestRecord, current_request


def record_of(message: str, *args: object, **more: Any) -> logging.LogRecord:
    logger = logging.getLogger("app.things")
    return logger.makeRecord("app.things", 20, "f.py", 1, message, args, None, **more)


@pytest.fixture
def request_id() -> Iterator[str]:
    token = current_request.set(RequestRecord("GET", "/", "id-1"))
    yield "id-1"
    current_request.reset(token)


def test_a_json_line_is_one_object_whatever_is_said() -> None:
    text = JsonFormatter().format(record_of('é "%s"\nand\u2028more', "x"))
    assert text.count("\n") == 0
    line = json.loads(text)
    assert line["message"] == 'é "x"\nand\u2028more'
    assert (line["level"], line["logger"]) == ("info", "app.things")
    assert line["time"].endswith("Z")
    assert "request_id" not in line


def test_half_of_a_surrogate_pair_can_be_written(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = StandardError()
    handler.setFormatter(JsonFormatter())
    handler.handle(record_of("\ud800"))
    assert json.loads(capsys.readouterr().err)["message"] == "\ud800"


def test_fields_and_exceptions_are_in_it(request_id: str) -> None:
    record = record_of("m", extra={FIELDS: {"status": 200, "odd": object}})
    error = ValueError("why")
    record.exc_info = (ValueError, error, None)
    line = json.loads(JsonFormatter().format(record))
    assert line["request_id"] == request_id
    assert line["status"] == 200
    assert line["exception"].endswith("ValueError: why")


def test_a_text_line_ends_with_the_requests_id(request_id: str) -> None:
    assert (
        TextFormatter()
        .format(record_of("m"))
        .endswith(f" INFO    app.things: m [{request_id}]")
    )


def test_it_writes_to_what_is_standard_error_by_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    handler = StandardError()
    handler.setFormatter(TextFormatter())
    handler.handle(record_of("later"))
    assert capsys.readouterr().err.endswith("app.things: later\n")


@pytest.mark.parametrize("fields", [{"message": "other", "more": 1}, "text", None])
def test_what_others_call_fields_takes_nothing_away(fields: Any) -> None:
    line = json.loads(JsonFormatter().format(record_of("m", extra={FIELDS: fields})))
    assert line["message"] == "m"
