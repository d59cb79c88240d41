"""A coordinator of a few lines, so that tests decide what happens to workers of a script, and when.

It says what runtime/crew.cpp says: it is no other protocol.
"""

import json
import os
import secrets
import select
import socket
import struct
import subprocess
import sys
import time

from ukemi.torch.messages import REPORT_REST, WORD, WORD_FIELDS, encode, take_frames
from ukemi.torch.plan import Plan

# On a GPU where there is one (UKEMI_DEVICE).
SCRIPT = '''
import torch
from torch import nn

import ukemi.torch

DEVICE = ukemi.torch.device()


def make():
    draw = torch.Generator().manual_seed(1)
    inputs = torch.randn(600, 16, generator=draw)
    wanted = (inputs @ torch.randn(16, 4, generator=draw)).argmax(1)
    model = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 4))
    model.to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], 0.5)
    return model, optimizer, torch.utils.data.TensorDataset(inputs, wanted), scheduler


def loss(model, batch):
    inputs, wanted = batch
    inputs, wanted = inputs.to(DEVICE), wanted.to(DEVICE)
    out = model(inputs)
    return nn.functional.cross_entropy(out, wanted), (out.argmax(1) == wanted).sum()
'''


def plan_text(**other):
    plan = {
        "version": 1,
        "fleet": [],
        "workers_max": 4,
        "learners_per_gpu": 1,
        "batch_per_learner": 1,
        "global_batch": 60,
        "accumulation": 1,
        "checkpoint_interval_ns": 1,
        "learning_rate": 1.0,
        "synchronisation": "s_sgd",
        "collective": "automatic",
        "codec": "none",
        "codec_level": 0.0,
        "layout": {"data": 1, "pipeline": 1, "tensor": 1},
        "checkpoint_on_notice": False,
    }
    plan.update(other)
    return json.dumps(plan, sort_keys=True, separators=(",", ":"))


def report_of(data):
    """The words by rank, and what is about all of them."""
    (count,) = struct.unpack_from("<I", data)
    names = [name for name, _ in WORD_FIELDS]
    words = [
        dict(zip(names, WORD.unpack_from(data, 4 + at * WORD.size))) for at in range(count)
    ]
    rest = REPORT_REST.unpack_from(data, 4 + count * WORD.size)
    names = ("samples", "loss", "accuracy", "noise_measured", "squared_norm", "covariance_trace",
             "noise_scale", "average_squared_norm", "codec_error", "hold")  # fmt: skip
    return words, dict(zip(names, rest))


class Rig:
    """Workers of one script; `inbox` has what they said and nobody has asked for yet."""

    def __init__(self, script, patience_s=120):
        self.door = socket.create_server(("127.0.0.1", 0))
        self.secret = secrets.token_bytes(32)
        self.training = json.dumps(
            {"bucket": "4096 B", "error_feedback": True, "noise_smoothing": 0.9, "script": str(script),
             "seed": 1, "step_seed": 1},
            sort_keys=True, separators=(",", ":"),
        )  # fmt: skip
        self.patience_s = patience_s
        self.processes = {}
        self.connections = {}
        self.unread = {}
        self.inbox = []
        self.members = []
        self.epoch = self.attempt = self.order = self.inquiry = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
            process.stderr.close()
        for connection in self.connections.values():
            connection.close()
        self.door.close()

    def start(self, worker, **environment):
        """The process alone; nobody is greeted yet."""
        given = dict(
            os.environ,
            UKEMI_RENDEZVOUS=f"127.0.0.1:{self.door.getsockname()[1]}",
            UKEMI_WORKER=str(worker),
            UKEMI_SECRET=self.secret.hex(),
        )
        given.update(environment)
        self.processes[worker] = subprocess.Popen(
            [sys.executable, "-m", "ukemi.torch.worker"], env=given, stderr=subprocess.PIPE
        )
        return self.processes[worker]

    def greet(self):
        """Lets one in, and says which."""
        self.door.settimeout(self.patience_s)
        connection, _ = self.door.accept()
        unread = bytearray()
        messages = []
        while not messages:
            unread += connection.recv(65536)
            messages = take_frames(unread)
        name, hello = messages[0]
        assert name == "Hello" and hello.secret == self.secret
        self.connections[hello.worker] = connection
        self.unread[hello.worker] = bytearray()
        self.tell(hello.worker, "Welcome", training=self.training, heartbeat_ns=5 * 10**9,
                  collective_ns=60 * 10**9, transition_ns=60 * 10**9, coordinator_ns=60 * 10**9,
                  allow_faults=False, link_steps=0)  # fmt: skip
        return hello.worker

    def spawn(self, count):
        first = len(self.processes)
        workers = list(range(first, first + count))
        for worker in workers:
            self.start(worker)
        for _ in workers:
            self.greet()
        self.wait("Ready", workers)
        return workers

    def tell(self, worker, name, /, **fields):
        try:
            self.connections[worker].sendall(encode(name, **fields))
        except OSError:
            pass  # it is gone, which shows when it is read from

    def _pump(self):
        ready, _, _ = select.select(list(self.connections.values()), [], [], 1)
        for worker, connection in list(self.connections.items()):
            if connection not in ready:
                continue
            try:
                received = connection.recv(1 << 20)
            except OSError:
                received = b""
            if not received:
                del self.connections[worker]
                connection.close()
                self.inbox.append((worker, "Gone", None))
            self.unread[worker] += received
            for name, message in take_frames(self.unread[worker]):
                if name != "Heartbeat":
                    self.inbox.append((worker, name, message))

    def wait(self, name, workers):
        """The next such message of each."""
        found = {}
        end = time.monotonic() + self.patience_s
        while True:
            for one in list(self.inbox):
                worker, kind, message = one
                if kind == name and worker in workers and worker not in found:
                    found[worker] = message
                    self.inbox.remove(one)
            if len(found) == len(workers):
                return found
            others = [one for one in self.inbox if one[1] in ("Trouble", "NotEntered", "NotSaved")]
            assert not others, others
            assert time.monotonic() < end, (name, workers, found, [one[:2] for one in self.inbox])
            self._pump()

    def order_entry(self, members, holders, text=None, step=-1, checkpoint="", same=False):
        """As far as «entered»; nothing is committed."""
        text = text or plan_text()
        self.attempt += 1
        if not same:
            self.epoch = self.attempt
        secret = secrets.token_bytes(32)
        for rank, worker in enumerate(members):
            self.tell(worker, "Transition", attempt=self.attempt, epoch=self.epoch,
                      group_changed=not same, plan=text, plan_digest=Plan(text).digest,
                      members=members, holders=bytes(int(one in holders) for one in members),
                      rank=rank, group_secret=secret, step=step,
                      checkpoint=str(checkpoint))  # fmt: skip
        if not same:
            addresses = self.wait("OwnAddress", members)
            ranks = [addresses[worker].address for worker in members]
            for worker in members:
                self.tell(worker, "Peers", attempt=self.attempt, addresses=ranks)
        return self.wait("Entered", members)

    def enter(self, members, holders=(), **other):
        """All agree, or it is an error."""
        entered = self.order_entry(members, holders, **other)
        for worker in members:
            self.tell(worker, "Commit", attempt=self.attempt)
        first = entered[members[0]]
        for one in entered.values():
            assert (one.step, one.position) == (first.step, first.position), entered
            assert one.replica_digest == first.replica_digest or not one.replicas_equal, entered
        self.members = members
        return first

    def discard(self, members):
        for worker in members:
            self.tell(worker, "Discard", attempt=self.attempt)

    def run(self, limit, members=None):
        self.order += 1
        for worker in members or self.members:
            self.tell(worker, "Run", epoch=self.epoch, order=self.order, limit=limit, holds_done=0)

    def train(self, limit):
        """Until all stand before step `limit`: the reports of rank 0."""
        self.run(limit)
        standing = self.wait("Standing", self.members)
        assert all(one.step == limit for one in standing.values())
        reports = [one[2] for one in self.inbox if one[1] == "StepFinished" and one[2].report]
        self.inbox = [one for one in self.inbox if one[1] != "StepFinished"]
        return [report_of(one.report) for one in reports]

    def abandon(self, workers):
        """Where each of them stands."""
        self.inquiry += 1
        for worker in workers:
            self.tell(worker, "Abandon", epoch=self.epoch, inquiry=self.inquiry, past_from=0)
        statuses = self.wait("Status", workers)
        self.inbox = [one for one in self.inbox if one[1] not in ("StepFailed", "StepFinished")]
        return statuses

    def leave(self):
        """All end by themselves."""
        for worker in self.connections:
            self.tell(worker, "Leave")
        return [self.processes[worker].wait(30) for worker in self.connections]
