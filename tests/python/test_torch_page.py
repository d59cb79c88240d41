"""docs/pytorch.md: every block of it is run as it stands, in its order, in an empty folder."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from support import SOURCE, UKEMI, ScratchTest


class Page(ScratchTest):
    def test_every_block_runs(self):
        programs = self.folder / "programs"
        programs.mkdir()
        # By a shell, because Python finds itself by the path that it is called by.
        python = programs / "python3"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        path = os.pathsep.join([str(programs), str(Path(UKEMI).parent), os.environ["PATH"]])
        page = (SOURCE / "docs" / "pytorch.md").read_text()
        blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", page, re.S | re.M)
        self.assertGreater(len(blocks), 5)
        said = ""
        for kind, text in blocks:
            program = ["bash", "-euo", "pipefail", "-c"] if kind == "sh" else ["python3", "-c"]
            ran = subprocess.run(
                [*program, text], cwd=self.folder, env={**os.environ, "PATH": path},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            )  # fmt: skip
            self.assertEqual(ran.returncode, 0, text + ran.stdout)
            said += ran.stdout
        self.assertIn(" 0 answered otherwise", said)
        self.assertIn("one checkpoint: ", said)
        self.assertIn("predicted: ", said)
        self.assertIn("error = predicted / measured - 1", said)


if __name__ == "__main__":
    unittest.main()
