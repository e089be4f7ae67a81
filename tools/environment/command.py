"""The command line of the set-up, and the order of its parts."""

from __future__ import annotations

import argparse
import re
import signal
import sys
from pathlib import Path

from tools.environment import preflight, run
from tools.environment.errors import PreflightError, StepError
from tools.environment.steps import Step, plan
from tools.environment.venv import Venv

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "requirements"
CHECKED = "checked"
INTERRUPTED = 130
TERMINATED = 143


def main() -> int:
    """Run the set-up; the return value is the exit status."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.environment")
    parser.add_argument("venv", type=Path, help="folder of the environment")
    parser.add_argument("--dev", action="store_true", help="also what checks need")
    parser.add_argument("--vllm", default="", help="another release, such as 0.31.0")
    arguments = parser.parse_args()
    _require_lock(parser, arguments.vllm)
    signal.signal(signal.SIGTERM, _terminate)
    try:
        venv = Venv(arguments.venv.absolute())
        set_up(venv, plan(ROOT, dev=arguments.dev, vllm=arguments.vllm))
    except (PreflightError, StepError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("set-up: interrupted; the same command goes on from here\n")
        return INTERRUPTED
    return 0


def _terminate(*_: object) -> None:
    """Leave through every ``finally``; a second signal does not disturb that."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(TERMINATED)


def _require_lock(parser: argparse.ArgumentParser, version: str) -> None:
    pins = "\n".join(lock.read_text() for lock in sorted(LOCKS.glob("*.lock")))
    known = re.findall(r"^vllm(?:-cpu)?==(\S+)", pins, re.MULTILINE)
    if version and version not in known:
        parser.error(f"no lock for vLLM {version}, only for {', '.join(known)}")


def set_up(venv: Venv, steps: list[Step]) -> None:
    """Do what is not done yet.

    Raises:
        PreflightError: The machine lacks something; nothing was downloaded.
        StepError: A step failed; the steps before it stay done.
    """
    with run.only_one(ROOT) as lock:
        ready = venv.is_ready()
        due = [step for step in steps if not ready or not _done(venv, step)]
        if not due and venv.stamps.holds(CHECKED, CHECKED):
            run.say(f"{venv.folder.name} is up to date")
            return
        _check_machine(venv, due, ready=ready)
        if not ready:
            venv.make(lock)
        _check_registry(venv, due)
        for step in due:
            _install(venv, step, lock)
        _verify(venv, steps, lock)


def _done(venv: Venv, step: Step) -> bool:
    return venv.stamps.holds(step.name, step.mark)


def _check_machine(venv: Venv, due: list[Step], *, ready: bool) -> None:
    problems = preflight.platform_problems()
    if not ready:
        problems += preflight.venv_problems()
        problems += venv.problems()
    if any(step.probe and venv.stamps.read(step.name) is None for step in due):
        problems += preflight.disk_problems(preflight.disk_needs(venv.folder))
    if problems:
        raise PreflightError(problems)


def _check_registry(venv: Venv, due: list[Step]) -> None:
    problems = [
        problem
        for step in due
        if step.probe
        for problem in preflight.registry_problems(
            venv.python, step.probe, step.index_options
        )
    ]
    if problems:
        raise PreflightError(problems)


def _install(venv: Venv, step: Step, lock: int) -> None:
    mark = step.mark
    venv.sweep()
    venv.stamps.drop(step.name)
    venv.stamps.drop(CHECKED)
    run.step(
        step.label,
        ["env", f"TMPDIR={venv.scratch}", *step.command(venv.python)],
        lock=lock,
        hint="The lines above are pip's own; the same command goes on from here.",
    )
    venv.stamps.write(step.name, mark)


def _verify(venv: Venv, steps: list[Step], lock: int) -> None:
    script = Path(__file__).with_name("verify.py")
    files = [str(path) for step in steps if step.probe for path in step.inputs]
    run.step(
        "version check",
        [str(venv.python), "-I", str(script), *files],
        lock=lock,
        hint=f"Remove {venv.folder} and try again.",
    )
    venv.stamps.write(CHECKED, CHECKED)
