"""docs/notebook.md: its blocks of Python, in their order, and the numbers that it names."""

import contextlib
import io
import os
import re
import tempfile
import unittest
from pathlib import Path

PAGE = Path(os.environ["UKEMI_SOURCE_DIR"]) / "docs/notebook.md"


class Notebook(unittest.TestCase):
    def test_every_block_runs_and_says_what_the_page_says(self) -> None:
        text = PAGE.read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 9)
        self.assertEqual(text.count("```"), 2 * len(blocks))  # no block is left out
        names: dict = {}
        printed = io.StringIO()
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
            os.chdir(folder)
            try:
                for number, block in enumerate(blocks):
                    exec(compile(block, f"{PAGE.name}, block {number + 1}", "exec"), names)
                self.assertIn("patient+daly", (Path(folder) / "report.html").read_text())
            finally:
                os.chdir(before)
        said = printed.getvalue()
        for number in ("448.72", "greedy saves 30%", "'patient:wait_h=4+daly': 0.7", "0.83", "14.0"):
            self.assertIn(number, said)
        self.assertEqual(names["pair"]["pairs"], 10)
        self.assertLess(names["pair"]["cost_usd_difference_mean"], 0)


if __name__ == "__main__":
    unittest.main()
