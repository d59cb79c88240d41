"""ukemi decides, torchrun restarts: `ukemi advise` is asked, elastic agents are started and ended.

adapt.py UKEMI JOB.json FOLDER

Each machine is an elastic agent (python3 -m torch.distributed.run) with one process. The market
here follows the job's progress, so that it takes the same course on any computer: two machines,
one (the other's agent is killed), three. FOLDER gets the snapshot, decisions.jsonl and the agents'
output.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch
from torch.distributed import TCPStore

MARKET = [(0.0, 2), (0.2, 1), (0.4, 3)]  # from this share of the work on: so many machines
HERE = Path(__file__).resolve().parent


class Advisor:
    """`ukemi advise`: a line each way, all of which are the decision log."""

    def __init__(self, ukemi, job, log):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([ukemi, "advise", job], stdin=pipe, stdout=pipe, text=True)
        self.log = open(log, "w")
        self.header = self.read()
        self.plan = self.header["plan"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(self.process.wait())  # it has said why
        self.log.write(line)
        self.log.flush()
        return json.loads(line)

    def say(self, **record):
        print(json.dumps(record), file=self.process.stdin, flush=True)
        return self.read()

    def ask(self, hook, kind, seen):
        """The Plan that was proposed, or None; settle() says what became of it."""
        answer = self.say(record="question", event={"hook": hook, "kind": kind}, seen=seen)
        return answer.get("proposed")

    def settle(self, plan):
        self.say(record="committed", version=plan["version"])
        self.plan = plan

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.log.close()


class Agents:
    """The machines of the job. What one process less or more means for the others is torchrun's."""

    def __init__(self, folder, machines_most, total):
        # Beside the agents, so that any of them may die.
        self.store = TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
        self.command = [
            sys.executable, "-m", "torch.distributed.run",
            "--nnodes", f"1:{machines_most}", "--nproc_per_node", "1",
            "--rdzv_backend", "c10d", "--rdzv_endpoint", f"127.0.0.1:{self.store.port}",
            "--rdzv_id", "ukemi", "--rdzv_conf", "is_host=0,last_call_timeout=2",
            "--max_restarts", "100", "--monitor_interval", "0.5",
            # torch 1.13 under Python 3.11 cannot read the 0 that these two have by default.
            "--redirects", "1", "--tee", "1", "--log_dir", str(folder / "workers"),
            str(HERE / "train.py"), str(folder / "snapshot"), str(total),
        ]  # fmt: skip
        self.folder = folder
        self.running = []
        self.started = 0

    def resize(self, count):
        while len(self.running) > count:  # as a market takes a machine: at once
            self.kill(self.running.pop())
        while len(self.running) < count:
            self.started += 1
            with open(self.folder / f"agent-{self.started}.log", "w") as output:
                self.running.append(
                    subprocess.Popen(self.command, stdout=output, stderr=output,
                                     env={**os.environ, "OMP_NUM_THREADS": "1"},
                                     start_new_session=True)
                )  # fmt: skip

    @staticmethod
    def kill(agent):
        """The machine with all that runs on it. A worker has a session of its own."""
        children = Path(f"/proc/{agent.pid}/task/{agent.pid}/children")
        workers = [int(one) for one in children.read_text().split()] if children.exists() else []
        for process in (agent.pid, *workers):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        agent.wait()

    def states(self):
        return [agent.poll() for agent in self.running]


def progress_in(folder):
    """What the last snapshot says of the training."""
    snapshot = folder / "snapshot"
    if not snapshot.exists():
        return {"samples_done": 0, "workers": 0, "loss": 0.0}
    saved = torch.load(snapshot)
    return {key: saved[key] for key in ("samples_done", "workers", "loss")}


def observation(advisor, progress, capacity, held):
    zone = {"zone": 0, "spot_capacity": capacity, "spot_nano_usd_per_hour": 918_000_000}
    done = progress["samples_done"]
    return {
        "now_ns": time.monotonic_ns() - BEGUN_NS, "phase": "running" if done else "waiting",
        "samples_done": done, "samples_safe": done,
        "samples_total": advisor.header["samples_total"],
        "workers_min": advisor.header["capabilities"]["workers_min"],
        "workers": progress["workers"], "loss": progress["loss"],
        "spot_capacity": capacity, "spot_held": held, "zones": [zone],
        "on_demand_nano_usd_per_hour": 3_060_000_000,
    }  # fmt: skip


def main(ukemi, job, folder):
    folder.mkdir(parents=True)
    advisor = Advisor(ukemi, job, folder / "decisions.jsonl")
    total = advisor.header["samples_total"]
    agents = Agents(folder, advisor.header["capabilities"]["instances_max"], total)
    hook, kind, capacity, told = "before_train", "none", -1, 0
    try:
        while True:
            progress = progress_in(folder)
            if progress["workers"] != told:
                told = progress["workers"]
                print(f"{progress['samples_done']} samples: {told} workers", flush=True)
            share = progress["samples_done"] / total
            now = [count for begin, count in MARKET if share >= begin][-1]
            if now != capacity:
                capacity = now
                seen = observation(advisor, progress, capacity, len(agents.running))
                plan = advisor.ask(hook, kind, seen)
                if plan is not None:
                    advisor.settle(plan)
                hook, kind = "on_event", "capacity_changed"
                wanted = sum(line["count"] for line in advisor.plan["fleet"])
                agents.resize(min(wanted, capacity))
            states = agents.states()
            if states and all(state == 0 for state in states):
                break
            if any(state not in (None, 0) for state in states):
                raise SystemExit(f"an agent has failed: see {folder}/agent-*.log")
            time.sleep(0.2)
    finally:
        agents.resize(0)
        advisor.close()
    progress = progress_in(folder)
    print(f"{progress['samples_done']} samples, last loss {progress['loss']:.3f}")


if __name__ == "__main__":
    BEGUN_NS = time.monotonic_ns()
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
