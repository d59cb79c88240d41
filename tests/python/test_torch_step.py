"""Steps of workers of a script: what is computed, repeated, undone, sent and saved."""

import os
import signal
import tempfile
import threading
import time
import unittest
import weakref
from pathlib import Path
from types import SimpleNamespace

import torch
import torch.distributed as dist
from torch import nn
from torch_rig import SCRIPT, Rig, plan_text

from ukemi._core import Checkpoint, GradientExchange, InputError
from ukemi.torch.codec import flat_gradient
from ukemi.torch.gpus import carrier_of
from ukemi.torch.group import Group, PeersFailed, _FileMeeting
from ukemi.torch.replica import NoiseAverages, Replica, StateError, pack, unpack
from ukemi.torch.script import SampleOrder, Task, load_script, peer_of
from ukemi.torch.step import noise_of_replicas


class ScriptTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        self.script = self.folder / "small.py"
        self.script.write_text(SCRIPT)

    def rig(self):
        rig = Rig(self.script)
        self.addCleanup(rig.__exit__)
        return rig

    def replica(self):
        return Replica(Task(load_script(str(self.script)), 1), 0.9)


class Formulas(unittest.TestCase):
    """The examples of tests/kernels/gradient_noise_test.cpp."""

    def test_noise_of_replicas(self):
        squared_norm, trace = noise_of_replicas([(16, 1.0), (16, 3.0)], 1.0)
        self.assertAlmostEqual(squared_norm, 0.0)
        self.assertAlmostEqual(trace, 32.0)
        self.assertIsNone(noise_of_replicas([(16, 1.0), (0, 0.0)], 1.0))

    def test_it_is_not_biased_by_uneven_shares(self):
        draw = torch.Generator().manual_seed(3)
        true, sigma, shares = 2.0, 3.0, (5, 20, 7)
        sums = [0.0, 0.0]
        for _ in range(2000):
            means = [true + sigma * torch.randn(n, 10, generator=draw).mean(0) for n in shares]
            mean = sum(n * one for n, one in zip(shares, means)) / sum(shares)
            norms = [(n, float(one.square().sum())) for n, one in zip(shares, means)]
            for at, value in enumerate(noise_of_replicas(norms, float(mean.square().sum()))):
                sums[at] += value / 2000
        self.assertAlmostEqual(sums[0], 10 * true**2, delta=1.0)
        self.assertAlmostEqual(sums[1], 10 * sigma**2, delta=6.0)

    def test_averages_are_corrected_for_their_beginning(self):
        averages = NoiseAverages(0.9)
        self.assertEqual(averages.scale(), 0.0)
        averages.add(2.0, 8.0)
        self.assertAlmostEqual(averages.scale(), 4.0)
        averages.add(float("nan"), 1.0)
        self.assertEqual(averages.values[2], 1)
        averages.add(4.0, 8.0)
        # Weights 0.9 and 1 of their sum.
        self.assertAlmostEqual(averages.values[0], (0.9 * 2 + 4) / 1.9)


class Devices(unittest.TestCase):
    def test_nccl_carries_between_gpus_of_their_own(self):
        self.assertEqual(carrier_of(["cuda:0", "cuda:1"], True), "nccl")
        self.assertEqual(carrier_of(["cuda:0", "cuda:1"], False), "gloo")
        self.assertEqual(carrier_of(["cuda:0", "cuda:0"], True), "gloo")
        self.assertEqual(carrier_of(["cuda:0", "cpu"], True), "gloo")
        self.assertEqual(carrier_of(["cuda:0"], True), "gloo")

    def groups(self):
        """One of two workers on one GPU, and the other's."""
        link = SimpleNamespace(collectives=0, in_flight=0, watch=id, forget=id)
        groups = [Group(link, 1, 1, rank, 2, 60.0, "cuda:0", b"s" * 32) for rank in range(2)]
        addresses = [group.address() for group in groups]
        threads = [threading.Thread(target=one.connect, args=(addresses,)) for one in groups]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for group in groups:
            self.addCleanup(group.close)
        return groups

    def test_two_workers_of_one_gpu_hand_gloo_what_is_there(self):
        """DistributedDataParallel does, of its own: shapes, and running means before each step."""
        for group in self.groups():
            self.assertEqual((group.carrier, group.on_host), ("gloo", True))
            if not isinstance(group.process_group, dist.ProcessGroupGloo):  # since torch 2
                found = [group.process_group._get_backend(torch.device(place)) for place in
                         ("cpu", "cuda")]  # fmt: skip
                self.assertIs(found[0], found[1])

    def test_a_meeting_says_without_waiting_what_has_been_said(self):
        """What NCCL's watchdog asks each second: torch's Store throws where a class has no answer."""
        file = os.memfd_create("meeting")
        self.addCleanup(os.close, file)
        meeting = _FileMeeting(file, time.monotonic() + 60, lambda: False)
        self.assertFalse(meeting.check(["one"]))
        meeting.set("one", b"x")
        self.assertTrue(meeting.check(["one"]))
        self.assertFalse(meeting.check(["one", "two"]))

    def test_whoever_keeps_the_meeting_does_not_write_into_another_file(self):
        """As NCCL's threads do, which say in it what went wrong."""
        group = self.groups()[0]
        others = [os.memfd_create("another") for _ in range(64)]
        with self.assertRaises(OSError):
            group._meeting.set("late", b"x")
        with self.assertRaises(OSError):
            group._meeting.get("late")
        self.assertFalse(group._meeting.check(["late"]))
        for other in others:
            self.assertEqual(os.fstat(other).st_size, 0)
            os.close(other)


class Orders(unittest.TestCase):
    def test_each_sample_once_an_epoch(self):
        order = SampleOrder(7, 10)
        whole = order.take(0, 30)
        for epoch in range(3):
            self.assertEqual(sorted(whole[10 * epoch : 10 * epoch + 10]), list(range(10)))
        self.assertNotEqual(whole[:10], whole[10:20])
        self.assertEqual(SampleOrder(7, 10).take(8, 9), whole[8:17])

    def test_pairs_are_of_two(self):
        for size in (2, 3, 5):
            for step in range(20):
                peers = [peer_of(1, step, rank, size) for rank in range(size)]
                self.assertEqual([peers[peer] for peer in peers], list(range(size)))
                self.assertEqual(sum(at == one for at, one in enumerate(peers)), size % 2)


class States(ScriptTest):
    def test_what_is_packed_comes_back(self):
        state = {"a": [1, 2.5, None, True, "x"], "b": (torch.ones(2, 3), float("inf")), "c": {3: 4}}
        back = unpack(pack(state))
        self.assertTrue(torch.equal(back["b"][0], state["b"][0]))
        self.assertEqual({**back, "b": back["b"][1]}, {**state, "b": state["b"][1]})
        with self.assertRaisesRegex(StateError, "holds a function"):
            pack({"a": lambda: 1})

    def test_a_checkpoint_is_whole_or_refused(self):
        replica = self.replica()
        file = self.folder / "checkpoint-1.ukemi"
        size = Checkpoint(5, 3, 180, 2, replica.state()).write(str(file))
        self.assertEqual(size, file.stat().st_size)
        read = Checkpoint.read(str(file))
        self.assertEqual((read.job, read.step, read.position, read.plan_version), (5, 3, 180, 2))
        other = self.replica()
        other.restore(read.state)
        self.assertEqual(other.digest(), replica.digest())
        whole = file.read_bytes()
        flipped = whole[:70] + bytes((whole[70] ^ 1,)) + whole[71:]
        for damaged in (whole[:-1], whole[:40], flipped, b"", whole + b"x"):
            file.write_bytes(damaged)
            with self.assertRaisesRegex(InputError, "checkpoint-1.ukemi"):
                Checkpoint.read(str(file))
        self.assertEqual([one.name for one in self.folder.glob("*tmp*")], [])

    def test_a_state_of_another_model_is_refused(self):
        with self.assertRaisesRegex(StateError, "no state of this script"):
            self.replica().restore(pack({"model": {}}))
        # Nothing is run: what pickle would do is not done.
        with self.assertRaises(StateError):
            self.replica().restore(b"cos\nsystem\n(S'false'\ntR.")


class Steps(ScriptTest):
    def test_the_average_is_the_gradient_over_all_samples(self):
        rig = self.rig()
        workers = rig.spawn(3)
        rig.enter(workers)
        ((words, report),) = rig.train(1)
        task = Task(load_script(str(self.script)), 1)
        indices = SampleOrder(1, 600).take(0, 60)
        shares = [indices[:20], indices[20:40], indices[40:]]

        # Batch norm looks at a worker's share, so the whole is the mean of the shares' gradients.
        gradients, losses = [], []
        for share in shares:
            task.optimizer.zero_grad()
            loss, _ = task.loss(task.model, task.batch(share))
            loss.backward()
            losses.append(float(loss))
            gradients.append(torch.cat([one.grad.flatten() for one in task.model.parameters()]))
        norms = [float(one.square().sum()) for one in gradients]
        average = float((sum(gradients) / 3).square().sum())
        self.assertAlmostEqual(report["loss"], sum(losses) / 3, places=5)
        for word, norm in zip(words, norms):
            self.assertAlmostEqual(word["local_squared_norm"] / norm, 1.0, places=4)
        self.assertAlmostEqual(report["average_squared_norm"] / average, 1.0, places=4)
        expected = noise_of_replicas([(20, norm) for norm in norms], average)
        self.assertTrue(report["noise_measured"])
        self.assertAlmostEqual(report["squared_norm"] / expected[0], 1.0, places=3)
        self.assertAlmostEqual(report["covariance_trace"] / expected[1], 1.0, places=3)
        self.assertEqual(sum(word["samples"] for word in words), 60)

    def test_shares_and_parts_do_not_change_the_sum(self):
        """61 samples for 3 workers in 2 parts each: uneven everywhere. No batch norm here."""
        self.script.write_text(SCRIPT.replace("nn.BatchNorm1d(32), ", ""))
        rig = self.rig()
        workers = rig.spawn(3)
        rig.enter(workers, text=plan_text(global_batch=61, accumulation=2))
        ((words, report),) = rig.train(1)
        task = Task(load_script(str(self.script)), 1)
        loss, right = task.loss(task.model, task.batch(SampleOrder(1, 600).take(0, 61)))
        loss.backward()
        average = sum(float(one.grad.square().sum()) for one in task.model.parameters())
        self.assertEqual([word["samples"] for word in words], [21, 20, 20])
        self.assertAlmostEqual(report["loss"], float(loss), places=5)
        self.assertAlmostEqual(report["accuracy"], right / 61, places=6)
        self.assertAlmostEqual(report["average_squared_norm"] / average, 1.0, places=4)

    def test_more_workers_than_samples(self):
        rig = self.rig()
        self.script.write_text(SCRIPT.replace("nn.BatchNorm1d(32), ", ""))
        rig.enter(rig.spawn(3), text=plan_text(global_batch=2))
        reports = rig.train(3)
        self.assertEqual([word["samples"] for word in reports[-1][0]], [1, 1, 0])

    def test_resizes_keep_every_sample_and_the_replicas_equal(self):
        rig = self.rig()
        workers = rig.spawn(4)
        rig.enter(workers)
        rig.train(7)
        entered = rig.enter(workers[:2], workers[:2], step=7)
        self.assertEqual((entered.step, entered.position), (7, 420))
        rig.train(11)
        (newcomer,) = rig.spawn(1)
        entered = rig.enter(workers[:2] + [newcomer], workers[:2], step=11)
        self.assertEqual((entered.step, entered.position), (11, 660))
        reports = rig.train(15)
        self.assertEqual(len(reports[-1][0]), 3)
        self.assertEqual(len(rig.abandon(rig.members)), 3)
        self.assertEqual(set(rig.leave()), {0})

    def test_a_repeated_run_gives_equal_bits(self):
        digests = []
        for _ in range(2):
            rig = self.rig()
            workers = rig.spawn(2)
            rig.enter(workers)
            rig.train(5)
            digests.append(rig.enter(workers, workers, step=5, same=True).replica_digest)
        self.assertEqual(digests[0], digests[1])

    def test_averaging_and_pairs(self):
        rig = self.rig()
        workers = rig.spawn(3)
        step = 0
        for plan in (
            {"synchronisation": "s_sgd"},
            {"synchronisation": "synchronous_averaging"},
            {"synchronisation": "synchronous_averaging", "learning_rate": 0.5},
            {"synchronisation": "pair_averaging"},
            {"synchronisation": "s_sgd", "codec": "fp16"},
        ):
            holders = workers if step else ()
            rig.enter(workers, holders, text=plan_text(**plan), step=step or -1, same=step > 0)
            reports = rig.train(step + 20)
            step += 20
        self.assertLess(reports[-1][1]["loss"], 0.8)
        self.assertGreater(reports[-1][1]["codec_error"], 0)
        self.assertLess(reports[-1][1]["codec_error"], 0.01)
        # S-SGD again: all have come to one model.
        digests = {one.replica_digest for one in rig.abandon(workers).values()}
        self.assertEqual(len(digests), 1)


class Together:
    """Ranks that are threads of this process: what a group carries, without one."""

    def __init__(self, rank, ranks):
        self.rank = rank
        self.others = ranks  # of this rank, too
        ranks[rank] = self

    def give(self, row):
        """Everybody's."""
        self.row = row
        self.barrier.wait()
        rows = [one.row for one in self.others]
        self.barrier.wait()
        return rows

    def all_reduce(self, memory, kind, how):
        into = torch.frombuffer(memory, dtype=getattr(torch, kind))
        total, *rest = self.give(into.clone())
        for row in rest:
            total = torch.maximum(total, row) if how == "max" else total + row
        into.copy_(total)

    def all_gather(self, own, everybody):
        everybody[:] = b"".join(self.give(own))

    def broadcast(self, memory, root):
        memory[:] = self.give(bytes(memory))[root]


class Codecs(ScriptTest):
    def setUp(self):
        super().setUp()
        # No batch norm: running means are each rank's own.
        self.script.write_text(SCRIPT.replace("nn.BatchNorm1d(32), ", ""))

    def saved(self, rig, number):
        """The whole state of rank 0."""
        file = self.folder / f"checkpoint-{number}.ukemi"
        rig.tell(rig.members[0], "Save", number=number, file=str(file))
        rig.wait("Saved", rig.members[:1])
        return unpack(Checkpoint.read(str(file)).state)

    def test_they_are_those_of_the_product(self):
        """Each in turn: the model is that of the product's codecs on the same gradients, to the bit.

        What one codec kept, the next one says, as among ukemi's own workers.
        """
        rig = self.rig()
        workers = rig.spawn(2)
        alone = Alone(Task(load_script(str(self.script)), 1))
        step = 0
        codecs = (("top_k", 0.1), ("power_sgd", 1.0), ("fp16", 0.0), ("power_sgd", 2.0),
                  ("scaled_sign", 0.0), ("random_k", 0.2), ("top_k_agreed", 0.0), ("none", 0.0),
                  ("qsgd", 0.0), ("qsgd_shared", 200.0), ("terngrad", 2.5), ("atomo", 0.0),
                  ("terngrad_shared", 0.0), ("sign", 0.0), ("sign_reduced", 0.0))  # fmt: skip
        for codec, level in codecs:
            text = plan_text(codec=codec, codec_level=level)
            rig.enter(workers, workers if step else (), text=text, step=step or -1, same=step > 0)
            reports = rig.train(step + 3)
            for _ in range(3):
                sent, error = alone.step(step, codec, level)
                step += 1
            weights = self.saved(rig, step)["model"]
            for name, value in alone.task.model.state_dict().items():
                self.assertTrue(torch.equal(weights[name], value.cpu()), (codec, name))
            words, report = reports[-1]
            self.assertEqual({word["sent_bytes"] for word in words}, {sent}, codec)
            self.assertAlmostEqual(report["codec_error"], error, places=6, msg=codec)
            # Of a mean from which much is missing there is no noise.
            self.assertEqual(report["noise_measured"], codec in ("none", "fp16"))

    def test_top_k_is_the_largest_of_each_rank(self):
        """By hand, with what was left out before."""
        rig = self.rig()
        workers = rig.spawn(2)
        rig.enter(workers, text=plan_text(codec="top_k", codec_level=0.1))
        rig.train(4)
        task = Task(load_script(str(self.script)), 1)
        parameters = list(task.model.parameters())
        kept = [[torch.zeros_like(one) for one in parameters] for _ in workers]
        for step in range(4):
            means = [torch.zeros_like(one) for one in parameters]
            for rank in range(2):
                indices = SampleOrder(1, 600).take(60 * step + 30 * rank, 30)
                task.optimizer.zero_grad()
                task.loss(task.model, task.batch(indices))[0].backward()
                for one, rest, mean in zip(parameters, kept[rank], means):
                    whole = (one.grad + rest).flatten()
                    sent = torch.zeros_like(whole)
                    places = whole.abs().topk(max(1, (len(whole) + 5) // 10)).indices
                    sent[places] = whole[places]
                    rest.copy_((whole - sent).view_as(rest))
                    mean.add_(sent.view_as(mean) / 2)
            for one, mean in zip(parameters, means):
                one.grad = mean
            task.optimizer.step()
        weights = self.saved(rig, 4)["model"]
        for name, value in task.model.state_dict().items():
            self.assertTrue(torch.allclose(weights[name], value.cpu(), atol=1e-6), name)

    def test_what_they_remember_is_resized_undone_and_saved(self):
        rig = self.rig()
        workers = rig.spawn(2)
        text = plan_text(codec="power_sgd", codec_level=2.0)
        rig.enter(workers, text=text)
        rig.train(5)
        # The warm start is part of the replica: it is in the digest, and a newcomer gets it.
        (newcomer,) = rig.spawn(1)
        members = workers + [newcomer]
        before = rig.enter(members, workers, text=text, step=5)
        rig.train(6)
        after = rig.enter(members, members, text=text, step=6, same=True)
        rig.abandon(members)
        undone = rig.enter(members, members, text=text, step=5)
        self.assertEqual((undone.step, undone.replica_digest), (5, before.replica_digest))
        rig.train(6)
        again = rig.enter(members, members, text=text, step=6, same=True)
        self.assertEqual(again.replica_digest, after.replica_digest)
        state = self.saved(rig, 6)
        codec, level, shared, kept = state["codec"]
        self.assertEqual((codec, level, len(kept)), ("power_sgd", 2.0, 0))
        self.assertEqual(len(shared), 2 * 16 + 2 * 32)  # rank 2; vectors go as they are
        # Without one it is forgotten.
        rig.enter(members, members, text=plan_text(), step=6, same=True)
        rig.train(7)
        self.assertIsNone(self.saved(rig, 7)["codec"])

    def test_doubles_are_refused_in_a_line(self):
        self.script.write_text(
            SCRIPT.replace("    optimizer =", "    model = model.double()\n    optimizer =")
        )
        rig = self.rig()
        workers = rig.spawn(1)
        with self.assertRaisesRegex(AssertionError, "top_k: expected weights of single precision"):
            rig.enter(workers, text=plan_text(codec="top_k"))


class Alone:
    """Two ranks' steps in this process, by the product's own exchange."""

    def __init__(self, task):
        self.task = task
        self.parameters = list(task.model.parameters())
        self.memories = [None, None]

    def gradient(self, step, rank):
        task = self.task
        task.optimizer.zero_grad(set_to_none=True)
        batch = task.batch(SampleOrder(1, 600).take(60 * step + 30 * rank, 30))
        task.loss(task.model, batch)[0].backward()
        return flat_gradient(self.parameters).cpu()

    def step(self, step, codec, level):
        """Bytes that a rank sent, and the share that did not arrive."""
        rows = [self.gradient(step, rank) for rank in range(2)]
        sent, error = 4 * len(rows[0]), 0.0
        if codec == "none":
            for row, memory in zip(rows, self.memories):
                if memory is not None:
                    row += memory[3]
            rows = [(rows[0] / 2) + (rows[1] / 2)]
            self.memories = [None, None]
        else:
            sent, error = self.exchange(step, codec, level, rows)
        at = 0
        for one in self.parameters:
            one.grad = rows[0][at : at + one.numel()].view_as(one).clone().to(one.device)
            at += one.numel()
        self.task.optimizer.step()
        if (step + 1) % 10 == 0:
            self.task.scheduler.step()
        return sent, error

    def exchange(self, step, codec, level, rows):
        ranks = [None, None]
        peers = [Together(rank, ranks) for rank in range(2)]
        barrier = threading.Barrier(2)
        shapes = [(len(one), one.numel() // len(one)) for one in self.parameters]
        exchanges = []
        for rank, memory in enumerate(self.memories):
            peers[rank].barrier = barrier
            one = GradientExchange(codec, level, True, 1, shapes, 4096, rank, 2)
            none = torch.empty(0)
            same = memory is not None and memory[:2] == (codec, level)
            one.begin(step, (memory[2] if same else none).numpy(),
                      (memory[3] if memory is not None else none).numpy())  # fmt: skip
            exchanges.append(one)
        threads = [
            threading.Thread(target=one.average, args=(peer, row.numpy()))
            for one, peer, row in zip(exchanges, peers, rows)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.memories = [
            (codec, level, *(torch.frombuffer(row, dtype=torch.float32) if row else torch.empty(0)
                             for row in one.memory()))
            for one in exchanges
        ]  # fmt: skip
        measures = [one.measures for one in exchanges]
        lost, whole = (sum(one[at] for one in measures) for at in (2, 3))
        return measures[0][1], (lost / whole) ** 0.5


class LostWork:
    """As a collective of Gloo whose send was lost between threads: it is not over, nor will it be."""

    def __init__(self):
        self.looked = threading.Event()
        self.over = False

    def is_completed(self):
        return self.over

    def wait(self, timeout=None):
        self.looked.set()
        if timeout is None:
            raise AssertionError("it would wait for ever")
        raise RuntimeError("Operation timed out!")


class AbortedGroups(unittest.TestCase):
    def group(self):
        link = SimpleNamespace(collectives=0, in_flight=0, watch=id, forget=id)
        return Group(link, 1, 1, 1, 2, 60.0, "cpu", b"s" * 32)

    def test_who_waits_for_a_lost_send_leaves_when_the_group_is_aborted(self):
        group, work = self.group(), LostWork()
        group.issue(work)

        def abort():
            work.looked.wait()
            group.abort()

        thread = threading.Thread(target=abort)
        thread.start()
        with self.assertRaises(PeersFailed) as caught, group.collective("gradients"):
            group.finish(work)
        thread.join()
        self.assertEqual(caught.exception.outcome, "aborted")

    def test_a_group_that_still_waits_is_put_aside_and_dropped_later(self):
        class Kept:
            pass

        group, work = self.group(), LostWork()
        group.process_group = Kept()
        kept = weakref.ref(group.process_group)
        group.issue(work)
        group.close()
        self.assertIsNotNone(kept())
        self.group().close()
        self.assertIsNotNone(kept())
        work.over = True
        self.group().close()
        self.assertIsNone(kept())


class Losses(ScriptTest):
    def test_a_killed_member_leaves_the_others_at_one_step(self):
        rig = self.rig()
        workers = rig.spawn(3)
        rig.enter(workers)
        rig.run(1 << 40)
        rig.wait("StepFinished", workers)
        rig.processes[workers[1]].send_signal(signal.SIGKILL)
        rig.wait("Gone", [workers[1]])
        left = [workers[0], workers[2]]
        statuses = rig.abandon(left)
        step = min(one.step for one in statuses.values())
        for one in statuses.values():
            self.assertIn(one.step - step, (0, 1))
            self.assertTrue(one.step == step or one.can_undo)
        entered = rig.enter(left, left, step=step)
        self.assertEqual((entered.step, entered.position), (step, 60 * step))
        rig.train(step + 3)

    def test_a_stopped_member_holds_nobody_up(self):
        rig = self.rig()
        workers = rig.spawn(3)
        rig.enter(workers)
        rig.run(1 << 40)
        rig.wait("StepFinished", workers)
        rig.processes[workers[2]].send_signal(signal.SIGSTOP)
        # The collectives' deadline is a minute; being told is enough.
        statuses = rig.abandon(workers[:2])
        rig.processes[workers[2]].send_signal(signal.SIGKILL)
        step = min(one.step for one in statuses.values())
        rig.enter(workers[:2], workers[:2], step=step)
        rig.train(step + 3)

    def test_who_does_not_let_go_of_a_step_ends(self):
        """Whatever holds it: here the script."""
        flag = self.folder / "stuck"
        self.script.write_text(
            SCRIPT.replace(
                "    inputs, wanted = batch\n",
                "    inputs, wanted = batch\n"
                "    import os, time\n"
                f"    if os.path.exists({str(flag)!r}):\n"
                f"        open({str(flag)!r} + str(os.getpid()), 'w').close()\n"
                "        time.sleep(3600)\n",
            )
        )
        rig = self.rig()
        workers = rig.spawn(2)
        rig.enter(workers)
        rig.train(3)
        flag.touch()
        rig.run(1 << 40)
        for worker in workers:
            while not Path(f"{flag}{rig.processes[worker].pid}").exists():
                time.sleep(0.01)
            rig.tell(worker, "Abandon", epoch=rig.epoch, inquiry=1, past_from=0)
        rig.wait("Gone", workers)

    def test_a_torn_step_is_undone_to_the_bit(self):
        rig = self.rig()
        workers = rig.spawn(2)
        rig.enter(workers)
        rig.train(5)
        before = rig.enter(workers, workers, step=5, same=True)
        rig.train(6)
        after = rig.enter(workers, workers, step=6, same=True)
        rig.abandon(workers)
        # Both are past step 5, as a survivor that is ahead is.
        undone = rig.order_entry(workers, workers, step=5)
        self.assertEqual({one.replica_digest for one in undone.values()}, {before.replica_digest})
        # Discarded, they are ahead again, and can go back again.
        rig.discard(workers)
        rig.epoch = 0
        again = rig.abandon(workers)
        self.assertEqual({(one.step, one.can_undo) for one in again.values()}, {(6, True)})
        self.assertEqual({one.replica_digest for one in again.values()}, {after.replica_digest})
        entered = rig.enter(workers, workers, step=5)
        self.assertEqual((entered.step, entered.replica_digest), (5, before.replica_digest))
        rig.train(6)
        repeated = rig.enter(workers, workers, step=6, same=True)
        self.assertEqual(repeated.replica_digest, after.replica_digest)

    def test_a_saved_run_goes_on_to_equal_bits(self):
        rig = self.rig()
        workers = rig.spawn(2)
        rig.enter(workers)
        rig.train(12)  # past the scheduler's first epoch
        file = self.folder / "checkpoint-000000000012.ukemi"
        rig.tell(workers[0], "Save", number=1, file=str(file))
        saved = rig.wait("Saved", workers[:1])[workers[0]]
        self.assertEqual((saved.step, saved.position), (12, 720))
        self.assertEqual(saved.bytes, file.stat().st_size)
        rig.train(25)
        undisturbed = rig.enter(workers, workers, step=25, same=True).replica_digest
        other = self.rig()
        resumed = other.spawn(2)
        entered = other.enter(resumed, checkpoint=file)
        self.assertEqual((entered.step, entered.position), (12, 720))
        other.train(25)
        again = other.enter(resumed, resumed, step=25, same=True)
        self.assertEqual(again.replica_digest, undisturbed)

    def test_a_state_from_elsewhere_is_not_taken(self):
        """Somebody between two members has not the secret of the group."""
        rig = self.rig()
        workers = rig.spawn(2)
        tell = rig.tell

        def lie(worker, name, /, **fields):
            if name == "Transition" and worker == workers[0]:
                fields["group_secret"] = b"?" * 32
            tell(worker, name, **fields)

        rig.tell = lie
        with self.assertRaisesRegex(AssertionError, "was not sent by a member"):
            rig.enter(workers)

    def test_a_worker_ends_with_its_coordinator(self):
        rig = self.rig()
        workers = rig.spawn(2)
        rig.enter(workers)
        rig.run(1 << 40)
        rig.wait("StepFinished", workers)
        for connection in rig.connections.values():
            connection.close()
        for worker in workers:
            rig.processes[worker].wait(30)


class Beginnings(ScriptTest):
    def test_the_secret_is_not_left_in_the_process(self):
        rig = self.rig()
        process = rig.start(0)
        rig.greet()
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        self.assertIn(b"UKEMI_SECRET=", environment)
        self.assertNotIn(rig.secret.hex().encode(), environment)
        arguments = Path(f"/proc/{process.pid}/cmdline").read_bytes()
        self.assertNotIn(rig.secret.hex().encode(), arguments)

    def test_without_an_invitation_there_is_one_line(self):
        rig = self.rig()
        for setting, value in (("UKEMI_SECRET", "zz"), ("UKEMI_RENDEZVOUS", "0.0.0.0:80"),
                               ("UKEMI_WORKER", "")):  # fmt: skip
            process = rig.start(0, **{setting: value})
            self.assertEqual(process.wait(60), 2)
            error = process.stderr.read().decode()
            self.assertRegex(error, rf"\Aukemi worker: {setting}: expected .*\n\Z")

    def test_a_script_that_cannot_train_says_why(self):
        wrong = {
            "import nothing_of_this_name\n": "small.py:1: ModuleNotFoundError: No module named",
            "def make(): return 3\ndef loss(m, b): pass\n": "expected .model, optimizer, dataset.",
            "def make(): pass\n": "expected a function loss",
            SCRIPT.replace("cross_entropy(out, wanted)", "cross_entropy(out, wrong)"):
                r"small.py:\d+: NameError: name 'wrong'",
            SCRIPT.replace("nn.functional.cross_entropy(out, wanted)", "out.sum(1)"):
                "expected the mean over the batch",
        }  # fmt: skip
        for text, why in wrong.items():
            self.script.write_text(text)
            rig = self.rig()
            rig.start(0)
            rig.greet()
            if "cross_entropy" in text or "out.sum" in text:
                rig.wait("Ready", [0])
                rig.enter([0])
                rig.run(1)
            trouble = rig.wait("Trouble", [0])[0]
            self.assertRegex(trouble.why, why)
            self.assertEqual(rig.processes[0].wait(30), 1)


if __name__ == "__main__":
    unittest.main()
