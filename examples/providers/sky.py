#!/usr/bin/env python3
"""A machine is a cluster of one node that SkyPilot launches; the task's run starts the agent."""
import json
import os
import subprocess
import sys

request = json.load(sys.stdin)
if request["request"] == "release":
    subprocess.run(["sky", "down", "--yes", request["machine"]], check=True, stdout=sys.stderr)
    print("{}")
    sys.exit()
command = ["sky", "launch", "--yes", "--detach-run", "--cluster", request["machine"]]
command += ["--zone", request["zone"]]
command += ["--use-spot"] if request["market"] == "spot" else ["--no-use-spot"]
command += ["--env", "UKEMI_JOIN=" + request["join"], "--env", "UKEMI_NAME=" + request["machine"]]
command += [os.environ["UKEMI_TASK"]]
launched = subprocess.run(command, stdout=sys.stderr)
print("{}" if launched.returncode == 0 else json.dumps({"refused": "sky launch failed"}))
