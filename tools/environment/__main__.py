"""``python3 -m tools.environment VENV [--dev]``: make or mend the environment.

Written for any Python 3, so that an old one gets as far as the sentence that says so.
"""

import sys

OLDEST = (3, 11)
NEWEST = (3, 14)


def unsupported_python() -> str:
    """One paragraph when this Python cannot serve, otherwise an empty string."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return ""
    found = ".".join(str(part) for part in sys.version_info[:3])
    return (
        f"vllm-di: set-up stopped before downloading anything: this is Python {found} "
        f"({sys.executable}), and vLLM needs Python 3.{OLDEST[1]} to 3.{NEWEST[1]}. "
        "Install one of these and name it: `make setup PYTHON=python3.12`."
    )


def run() -> int:
    """Check the interpreter, then hand over to code that needs a current one."""
    problem = unsupported_python()
    if problem:
        sys.stderr.write(problem + "\n")
        return 1
    from tools.environment.command import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
