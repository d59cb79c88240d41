"""The types that the package states are those that it has."""

import subprocess
import sys
import unittest

from support import SOURCE, ScratchTest

import ukemi
from ukemi import _core


class Types(ScratchTest):
    def test_mypy_finds_nothing(self):
        ran = subprocess.run(
            [sys.executable, "-m", "mypy", "--config-file", str(SOURCE / "pyproject.toml"),
             "--cache-dir", str(self.folder), str(SOURCE / "python" / "ukemi")],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout)

    def test_stubs_name_what_there_is(self):
        stubs = (SOURCE / "python" / "ukemi" / "_core.pyi").read_text()
        for name in dir(_core):
            if name.startswith("__"):
                continue
            self.assertRegex(stubs, rf"(?m)^(class|def) {name}\b", name)
            one = getattr(_core, name)
            if not isinstance(one, type) or issubclass(one, Exception) or one is ukemi.Decision:
                continue
            for member in dir(one):
                if not member.startswith("__"):
                    line = rf"(?m)^    (def {member}\(|{member}:)"
                    self.assertRegex(stubs, line, f"{name}.{member}")
        for name in dir(ukemi.Decision()):
            if not name.startswith("__"):
                self.assertIn(f"        {name}: ", stubs)


if __name__ == "__main__":
    unittest.main()
