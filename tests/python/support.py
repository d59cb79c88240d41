"""What the tests of the module share: the command beside it, and scratch folders."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

UKEMI = os.environ["UKEMI_BINARY"]
SOURCE = Path(os.environ["UKEMI_SOURCE_DIR"])


class ScratchTest(unittest.TestCase):
    """A test with a folder of its own, `self.folder`."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def command(self, *arguments):
        """What the command prints; it must succeed."""
        ran = subprocess.run(
            [UKEMI, *arguments], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.assertEqual(ran.returncode, 0, ran.stderr.decode())
        return ran.stdout.decode()

    def command_runs(self, *arguments):
        return json.loads(self.command(*arguments, "--json"))["runs"]
