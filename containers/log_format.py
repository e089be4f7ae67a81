"""Log lines as JSON or as text, each with the id of the request it belongs to.

No secret that is known, or looks like one, is in them.

Engine processes write theirs with it too, so it is light to import.
"""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from containers.masks import masked, masked_where_known
from containers.request_record import current_request

Format = Literal["json", "text"]

MAIN = "MainProcess"

ACCESS = "vllm_di.access"
"""Logger of the line of each request, in which nobody else's texts are."""

FIELDS = "fields"
"""Attribute of a log record that holds further fields: ``extra={FIELDS: {...}}``."""


class StandardError(logging.StreamHandler[TextIO]):
    """Writes to what is standard error at that moment, as a live display changes it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        """Where it writes."""
        return sys.stderr

    @stream.setter
    def stream(self, value: TextIO) -> None:
        del value


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and what else there is."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line: dict[str, Any] = {
            "time": _time_of(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message_of(record),
        }
        if process := _process_of(record):
            line["process"] = process
        request = current_request.get()
        if request is not None:
            line["request_id"] = request.request_id
        fields = getattr(record, FIELDS, None)
        if isinstance(fields, dict):  # others may call something else so
            line |= {key: fields[key] for key in fields if key not in line}
        if trace := _trace_of(self, record):
            line["exception"] = trace
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """Time, level, logger, message, and the request's id in brackets."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record, and those of its exception."""
        time = datetime.fromtimestamp(record.created, UTC).astimezone()
        process = _process_of(record)
        name = f"{record.name} ({process})" if process else record.name
        head = f"{time:%H:%M:%S} {record.levelname:7} {name}"
        line = f"{head}: {with_request_id(_message_of(record))}"
        trace = _trace_of(self, record)
        return f"{line}\n{trace}" if trace else line


def formatter(kind: Format) -> logging.Formatter:
    """The formatter of a kind; what a ``dictConfig`` of another process names."""
    return JsonFormatter() if kind == "json" else TextFormatter()


def with_request_id(text: str) -> str:
    """A line of text, with the id of the request it is written for, if for one."""
    request = current_request.get()
    return text if request is None else f"{text} [{request.request_id}]"


def _message_of(record: logging.LogRecord) -> str:
    text = record.getMessage()
    return masked_where_known(text) if record.name == ACCESS else masked(text)


def _process_of(record: logging.LogRecord) -> str:
    """What vLLM calls the process, if it is one of an engine's."""
    name: str = getattr(record, "vllm_process_name", MAIN)
    return "" if name == MAIN else name


def _time_of(record: logging.LogRecord) -> str:
    time = datetime.fromtimestamp(record.created, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _trace_of(formatter: logging.Formatter, record: logging.LogRecord) -> str:
    traces = []
    if record.exc_info:
        traces.append(formatter.formatException(record.exc_info))
    if record.stack_info:
        traces.append(formatter.formatStack(record.stack_info))
    return masked("\n".join(traces))
