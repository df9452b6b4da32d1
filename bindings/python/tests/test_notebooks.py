"""The notebooks run from beginning to end and write their files."""

import nbclient
import nbformat
import pytest

from conftest import ROOT

FILES = {
    "first-steps": ["first-steps.png", "figures/flows.parquet"],
    "figure-from-scenario": ["figure-20.pdf"],
    "encoder": ["encoder.png"],
}


def test_all_notebooks_are_tested():
    found = {path.stem for path in (ROOT / "bindings/python/notebooks").glob("*.ipynb")}
    assert found == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_notebook(name, tmp_path):
    # A tree like the repository's, in which a notebook finds scenarios and leaves its files.
    folder = tmp_path / "bindings/python/notebooks"
    folder.mkdir(parents=True)
    for linked in ("experiments", "scenarios"):
        (tmp_path / linked).symlink_to(ROOT / linked)
    notebook = nbformat.read(ROOT / f"bindings/python/notebooks/{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks have no outputs"
    nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    assert "Warning" not in str([cell.get("outputs") for cell in notebook.cells])
    for file in FILES[name]:
        assert (folder / file).stat().st_size > 0
