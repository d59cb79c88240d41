#!/usr/bin/env python3
"""A world in plain Python that asks `ukemi advise` what to do: a spot market with gaps.

client.py UKEMI SCENARIO [OPTION OF ukemi advise]...
"""
import json
import subprocess
import sys

HOUR_NS = 3_600_000_000_000
HAS_SPOT = [True] * 5 + [False] * 3 + [True] * 8 + [False] * 9  # by the hour, again and again


class Advisor:
    def __init__(self, program, *arguments):
        pipe = subprocess.PIPE
        command = [program, "advise", *arguments]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.header = self.read()
        self.plan = self.header["plan"]

    def read(self):
        line = self.process.stdout.readline()
        return json.loads(line) if line else sys.exit(self.process.wait())  # it has said why

    def say(self, **record):
        print(json.dumps(record), file=self.process.stdin, flush=True)
        return self.read()

    def ask(self, hook, kind, seen):
        answer = self.say(record="question", event={"hook": hook, "kind": kind}, seen=seen)
        if "proposed" in answer:  # this world can do all that it may be asked for
            self.plan = answer["proposed"]
            self.say(record="committed", version=self.plan["version"])
        return self.plan["fleet"][0]


advisor = Advisor(*sys.argv[1:])
total = advisor.header["samples_total"]  # of a job given in hours: nanoseconds of work
workers = advisor.header["capabilities"]["workers_min"]
done = hour = 0
hook, kind, market = "before_train", "none", None
while done < total:
    spot = workers if HAS_SPOT[hour % len(HAS_SPOT)] else 0
    zone = {"zone": 0, "spot_capacity": spot, "spot_nano_usd_per_hour": 918_000_000}
    seen = {"now_ns": hour * HOUR_NS, "phase": "running" if done else "waiting"}
    seen.update(samples_done=done, samples_total=total, samples_safe=done, workers_min=workers)
    seen.update(spot_capacity=spot, zones=[zone], on_demand_nano_usd_per_hour=3_060_000_000)
    fleet = advisor.ask(hook, kind, {**seen, "deadline_ns": 60 * HOUR_NS})
    if fleet["market"] != market:
        market = fleet["market"]
        print(f"hour {hour}: {market}")
    if market == "on_demand" or (market == "spot" and spot):
        done += min(HOUR_NS * workers, total - done)
    hour, hook, kind = hour + 1, "on_event", "capacity_changed"
print(f"done in {hour} hours")
