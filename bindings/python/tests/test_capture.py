"""`capture`: the kernel's call, against the program, and files that are no captures."""

import json
from pathlib import Path

import numpy as np
import polars
import pytest

import tfrc

CALL = Path(__file__).resolve().parents[3] / "testdata/linux-dccp/linux-bidir-50ms.pcap"


def test_the_document_is_that_of_the_program(program):
    assert json.loads(program("capture", "--json", CALL)) == tfrc.capture(CALL).json()
    asked = tfrc.capture(str(CALL), side="server", ports=[7000], lost=[5])
    assert asked.to_json() == program(
        "capture", "--json", "--side", "server", "--port", "7000", "--lost", "5", CALL
    ).rstrip("\n")


def test_tables_have_a_row_for_each_round_and_report():
    found = tfrc.capture(CALL)
    directions = found.json()["connections"][0]["directions"]
    rounds = [one for direction in directions for one in direction["rates"]["series"]]
    assert len(found.rounds) == len(rounds) > 50
    for column in set(found.rounds.column_names) - {"connection", "from"}:
        values = [one[column] for one in rounds]
        if column.endswith("limit"):
            assert list(found.rounds[column]) == values
        else:
            known = np.array([np.nan if value is None else value for value in values])
            assert np.array_equal(found.rounds[column], known, equal_nan=True)
    reports = polars.DataFrame(found.reports)
    server = reports.filter(polars.col("from") == "server")
    assert server.height == 90 and {40, 188, 349} <= set(server["inverse_p"])
    assert "follows Linux 6.1" in str(found)


def test_files_that_are_no_captures(tmp_path):
    with pytest.raises(FileNotFoundError):
        tfrc.capture(tmp_path / "none")
    (tmp_path / "text").write_text("Dear reader")
    with pytest.raises(ValueError, match="no capture"):
        tfrc.capture(tmp_path / "text")
    with pytest.raises(ValueError, match="side"):
        tfrc.capture(CALL, side="left")
