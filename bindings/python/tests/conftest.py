"""Fixtures of all tests: the program and the Rust example that the package is compared with."""

import os
import subprocess
from pathlib import Path

import pytest
from small_experiment import put

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session")
def program():
    """Runs `tfrc` with arguments and returns its standard output."""
    path = os.environ.get("TFRC_PROGRAM", ROOT / "target/debug/tfrc")

    def run(*arguments):
        done = subprocess.run([path, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="session")
def advisor_trace():
    """Gives lines to the example `advisor_trace` and returns its lines."""
    path = os.environ.get("TFRC_ADVISOR_TRACE", ROOT / "target/debug/examples/advisor_trace")

    def run(lines):
        text = "".join(f"{line}\n" for line in lines)
        done = subprocess.run([path], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of experiments with one, `p/x`."""
    return put(tmp_path)
