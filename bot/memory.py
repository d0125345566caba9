"""How much memory this process's workers use."""

from __future__ import annotations

import os

import psutil


def tree_mib(pids: list[int]) -> float:
    """MiB of these processes and all below them, shared pages counted once (proportional set size):
    forked children share most of theirs, and plain sums would count the framework many times."""
    total = 0
    for pid in pids:
        try:
            process = psutil.Process(pid)
            family = [process, *process.children(recursive=True)]
        except psutil.NoSuchProcess:
            continue
        for member in family:
            try:
                total += member.memory_full_info().pss
            except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                continue
    return total / 2**20


def available_mib() -> float:
    """MiB that the machine has to spare."""
    return float(psutil.virtual_memory().available) / 2**20


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))
