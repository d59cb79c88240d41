"""examples/torchrun: `ukemi advise` decides, torchrun's elastic agents restart."""

import json
import subprocess
import sys
import unittest
from pathlib import Path

from support import SOURCE, UKEMI, ScratchTest

EXAMPLE = SOURCE / "examples" / "torchrun"


def processes_of(folder):
    """Agents and workers whose snapshot lies there."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if str(folder / "snapshot").encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue
    return found


class Torchrun(ScratchTest):
    def test_an_agent_is_killed_and_others_go_on(self):
        folder = self.folder / "run"
        ran = subprocess.run(
            [sys.executable, str(EXAMPLE / "adapt.py"), UKEMI, str(EXAMPLE / "job.json"),
             str(folder)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        )  # fmt: skip
        logs = "\n".join(one.read_text()[-2000:] for one in folder.glob("agent-*.log"))
        self.assertEqual(ran.returncode, 0, ran.stdout + logs)
        self.assertIn("48000 samples, last loss 0.", ran.stdout)
        self.assertEqual(processes_of(folder), [])
        # Two, and one after the other's was killed; three are asked for, and come if they are in
        # time.
        self.assertRegex(ran.stdout, r"samples: 2 workers\n\d+ samples: 1 workers")
        wanted = []
        for line in (folder / "decisions.jsonl").read_text().splitlines():
            record = json.loads(line)
            if "proposed" in record:
                wanted.append(sum(one["count"] for one in record["proposed"]["fleet"]))
        self.assertEqual(wanted, [2, 1, 3])
        self.assertIn(" 0 answered otherwise",
                      self.command("replay-log", str(folder / "decisions.jsonl")))  # fmt: skip


if __name__ == "__main__":
    unittest.main()
