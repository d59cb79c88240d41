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
secret = os.environ.get("UKEMI_SECRET_FILE")
if secret is None:
    sys.exit("UKEMI_SECRET_FILE: expected the file of the secret, for the agents")
agent = ["ukemi", "agent", "--join", request["join"], "--name", request["machine"]]
agent += ["--secret-file", secret, "--stop-within", "60"]
command = ["sbatch", "--parsable", "--ntasks=1", "--signal=TERM@60"]
command += ["--job-name", request["machine"], "--wrap", "exec " + shlex.join(agent)]
job = subprocess.run(command, capture_output=True, text=True)
if job.returncode != 0:
    print(json.dumps({"refused": job.stderr.strip()[:200]}))
else:
    print("{}")
