"""Shared memory of a process that was killed."""

from __future__ import annotations

import subprocess
import sys
from multiprocessing.shared_memory import SharedMemory

import pytest

from containers.vllm_api.left_memory import give_back, shared_memory_of

GONE = 2**22
"""Number that no process has."""

HOLDER = """
import mmap, sys
file = open(f"/dev/shm/{sys.argv[1]}", "r+b")
memory = mmap.mmap(file.fileno(), 0)
print("held", flush=True)
sys.stdin.read()
"""


def test_what_a_killed_process_had_is_found_before_and_removed_after() -> None:
    memory = SharedMemory(create=True, size=64)
    name = memory.name
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert shared_memory_of(holder.pid) == {name}
        holder.kill()
    memory.close()
    give_back({name})
    with pytest.raises(FileNotFoundError):
        SharedMemory(name)


def test_what_is_gone_already_is_no_matter() -> None:
    assert shared_memory_of(GONE) == set()
    give_back({"psm_of_nobody"})
