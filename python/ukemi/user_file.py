"""A Python file of somebody else's, run as a module: a training script, or a file of policies."""

import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Callable


def load_user_file(path: str) -> ModuleType:
    """Runs it; what stands beside it can be imported. ImportError for what is no Python file.

    It is known by its name, unless a module that others may want has that name.
    """
    file = Path(path)
    taken = file.stem in sys.modules or file.stem in sys.stdlib_module_names
    name = f"user_file_{file.stem}" if taken else file.stem
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.parent))
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def error_line(error: BaseException, is_theirs: Callable[[str], bool]) -> str:
    """The error in a line, after the last place in a file that is theirs."""
    place = ""
    for frame in traceback.extract_tb(error.__traceback__):
        if is_theirs(frame.filename):
            place = f"{Path(frame.filename).name}:{frame.lineno}: "
    text = " ".join(str(error).split())[:500]
    return f"{place}{type(error).__name__}: {text}"
