"""The typed stub of the native module names what is there."""

import ast
from pathlib import Path

import tfrc
from tfrc import _native

STUB = ast.parse((Path(tfrc.__file__).parent / "_native.pyi").read_text())
CLASSES = {node.name: node for node in STUB.body if isinstance(node, ast.ClassDef)}


def members(node):
    """The names that a class of the stub defines, without those of every object."""
    functions = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    return {name for name in functions if not name.startswith("__")}


def test_classes_and_functions_are_those_of_the_stub():
    functions = {node.name for node in STUB.body if isinstance(node, ast.FunctionDef)}
    there = {name for name in dir(_native) if not name.startswith("__")}
    assert there == functions | set(CLASSES)


def test_members_are_those_of_the_stub():
    for name, node in CLASSES.items():
        native = getattr(_native, name)
        if issubclass(native, Exception):
            continue
        there = {member for member in vars(native) if not member.startswith("__")}
        assert there == members(node), name


def test_the_package_is_typed_and_all_names_are_there():
    assert (Path(tfrc.__file__).parent / "py.typed").exists()
    assert all(hasattr(tfrc, name) for name in tfrc.__all__)
    assert all(getattr(tfrc, name).__doc__ for name in tfrc.__all__ if name != "__version__")
