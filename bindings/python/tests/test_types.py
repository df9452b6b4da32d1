"""What the package gives out; mypy and stubtest hold its types against it (`cargo xtask python`)."""

from pathlib import Path

import tfrc


def test_the_package_is_typed_and_all_names_are_there():
    assert (Path(tfrc.__file__).parent / "py.typed").exists()
    assert all(hasattr(tfrc, name) for name in tfrc.__all__)
    assert all(getattr(tfrc, name).__doc__ for name in tfrc.__all__ if name != "__version__")
