#!/usr/bin/env python3
"""A machine is a Slurm job that runs an agent: SIGTERM before its end is the notice."""
import json
import os
import shlex
import subprocess
import sys

request = json.load(sys.stdin)
if request["request"] == "release":
    subprocess.run(["scancel", "--name", request["machine"]], check=True)
    print("{}")
    sys.exit()
agent = ["ukemi", "agent", "--join", request["join"], "--name", request["machine"]]
agent += ["--secret-file", os.environ["UKEMI_SECRET_FILE"], "--stop-within", "60"]
command = ["sbatch", "--parsable", "--ntasks=1", "--signal=TERM@60"]
command += ["--job-name", request["machine"], "--wrap", "exec " + shlex.join(agent)]
job = subprocess.run(command, capture_output=True, text=True)
if job.returncode != 0:
    print(json.dumps({"refused": job.stderr.strip()[:200]}))
else:
    print("{}")
