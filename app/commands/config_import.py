"""``vllm-di config import``: a command line of ``vllm serve`` as a config file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from app.commands.options import file_to_write
from app.commands.telling import tell, tell_of_the_import
from app.quiet import be_quiet
from containers.errors import SettingsError

EXIT_OK = 0


def add_to(actions: Any) -> None:
    """Declare the command's options."""
    parser = actions.add_parser(
        "import", help="write the config file that is equal to a vllm serve command"
    )
    parser.add_argument(
        "--output",
        type=file_to_write,
        metavar="PATH",
        help="the file to write, which must not exist (default: print it)",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="a Kubernetes, compose or vLLM YAML file, or a file of shell text",
    )
    parser.add_argument(
        "command",
        nargs="*",
        metavar="-- COMMAND",
        help="vllm serve MODEL --option ..., docker run ..., or the options alone",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the file, report what differs on the error stream, and return 0.

    Raises:
        SettingsError: There is no command, vLLM refuses it, or the file exists.
    """
    from containers.settings.migration import imported, line_of_file, line_of_words

    if bool(options.command) == bool(options.source):
        raise SettingsError(
            reason="there is no one command to import",
            hint="Write it after --, or name a file with --from; not both.",
        )
    if options.output and options.output.exists():
        raise SettingsError(
            file=str(options.output), reason="exists", hint="Name a new file."
        )
    if options.source:
        line = line_of_file(options.source)
    else:
        line = line_of_words(options.command)
    be_quiet()
    tell_of_the_import()
    found = imported(line, options.output and options.output.absolute().parent)
    for name, key in sorted(found.variables.items()):
        tell(f"set {name}, which {key} takes")
    tell(*found.notes)
    if options.output:
        options.output.write_text(found.text, "utf-8")
        tell(f"wrote {options.output}")
    else:
        print(found.text, end="")
    return EXIT_OK
