"""``python -m tools.api_fuzz``: schemathesis over all routes of a real server.

Exit status 0 if no request was answered with 5xx, none hung, and the server answers
as before in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from tools.api_fuzz.server import KEY, ROOT, served

REQUEST_TIMEOUT_S = 120
SERVER_ERROR = 500
LEFT_OUT = "^/(sleep|wake_up)$"
"""Routes that would keep the others from answering."""


def main() -> int:
    """Serve, send, count, and look whether all is well in the end."""
    parser = argparse.ArgumentParser(prog="python -m tools.api_fuzz")
    parser.add_argument("--schemathesis", type=Path, required=True, metavar="COMMAND")
    parser.add_argument("--examples", type=int, default=50, help="for each operation")
    parser.add_argument("--phases", default="coverage,fuzzing", help="schemathesis'")
    parser.add_argument("--cases", type=int, default=2000, help="at least, in all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with TemporaryDirectory() as name, served(Path(name)) as client:
        counts, status = send(options, client, Path(name) / "counts.json")
        is_healthy = answers(client)
        report(counts)
        print(f"schemathesis' status: {status}; healthy in the end: {is_healthy}")
    is_enough = counts.total() >= options.cases
    has_failed = max(by_status(counts), default=0) >= SERVER_ERROR
    return int(bool(status) or has_failed or not is_healthy or not is_enough)


def report(counts: Counter[str]) -> None:
    """Print how often each status came, and what was answered with 5xx."""
    print(f"\n{counts.total()} requests")
    for status, n in sorted(by_status(counts).items()):
        print(f"  {status}: {n}")
    for what, n in sorted(counts.items()):
        if int(what.split()[-1]) >= SERVER_ERROR:
            print(f"  server error: {what} ({n} times)")


def send(
    options: argparse.Namespace, client: httpx.Client, counts: Path
) -> tuple[Counter[str], int]:
    """Let schemathesis send its requests.

    Returns:
        How often each answer came, and schemathesis' exit status: not 0 if a server
        error was found or an answer did not come in time.

    Raises:
        RuntimeError: It could not begin.
    """
    command = [
        *(str(options.schemathesis), "run", f"{client.base_url}/openapi.json"),
        *("--header", f"Authorization:Bearer {KEY}"),
        *("--checks", "not_a_server_error", "--continue-on-failure", "--no-shrink"),
        *("--phases", options.phases),
        *("--exclude-path-regex", LEFT_OUT),
        *("--max-examples", str(options.examples), "--seed", str(options.seed)),
        *("--request-timeout", str(REQUEST_TIMEOUT_S), "--warnings", "off"),
        *("--suppress-health-check", "all"),
    ]
    environment = {
        "SCHEMATHESIS_HOOKS": "tools.api_fuzz.hooks",
        "API_FUZZ_COUNTS": str(counts),
        "PYTHONPATH": str(ROOT),
    }
    ended = subprocess.run(command, check=False, env=os.environ | environment)
    if not counts.exists():
        raise RuntimeError(f"schemathesis ended with status {ended.returncode}")
    found = json.loads(counts.read_text(encoding="utf-8"))
    return Counter(found), ended.returncode


def answers(client: httpx.Client) -> bool:
    """Whether the engines live and the chat model still answers."""
    question = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2}
    return (
        client.get("/health").is_success
        and client.get("/readyz").is_success
        and client.post("/v1/chat/completions", json=question).is_success
    )


def by_status(counts: Counter[str]) -> Counter[int]:
    """How often each status came."""
    statuses: Counter[int] = Counter()
    for what, n in counts.items():
        statuses[int(what.split()[-1])] += n
    return statuses


if __name__ == "__main__":
    sys.exit(main())
