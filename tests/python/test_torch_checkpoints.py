"""What workers of a script save: however large it is, their other threads run meanwhile."""

import errno
import io
import mmap
import os
import sys
import threading
import time
import unittest
from types import SimpleNamespace
from unittest import mock

import torch
from support import ScratchTest

from ukemi._core import Checkpoint, InputError, bit_hash
from ukemi.torch.replica import pack, unpack
from ukemi.torch.trainer import Trainer, _row_of


class Other:
    """A thread that counts, and gets the interpreter's lock only from who gives it away."""

    def __enter__(self):
        self.count = 0
        self.over = False
        self.interval_s = sys.getswitchinterval()
        sys.setswitchinterval(100)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.over:
            self.count += 1
            time.sleep(0)

    def __exit__(self, *_):
        self.over = True
        sys.setswitchinterval(self.interval_s)
        self.thread.join()

    def counts_within(self, act):
        """Whether it does. A busy machine may let it sleep now and then."""
        for _ in range(50):
            before = self.count
            act()
            if self.count > before:
                return True
        return False


class Checkpoints(ScratchTest):
    def setUp(self):
        super().setUp()
        self.file = str(self.folder / "checkpoint")

    def sparse(self, size):
        """So many bytes, which take no memory."""
        with open(self.folder / "sparse", "wb+") as file:
            file.truncate(size)
            return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)

    def test_a_state_is_not_copied(self):
        state = bytearray(b"0123456789")
        checkpoint = Checkpoint(5, 3, 180, 2, state)
        state[0] = ord("X")
        self.assertEqual(checkpoint.state, b"X123456789")
        with self.assertRaises(BufferError):
            state.append(0)  # it would move
        self.assertEqual(checkpoint.write(self.file), 64 + 10)
        read = Checkpoint.read(self.file)
        view = read.state
        self.assertEqual((read.job, read.step, read.position, read.plan_version), (5, 3, 180, 2))
        del read, checkpoint
        self.assertEqual(view, b"X123456789")
        self.assertTrue(view.readonly)
        state.append(0)

    def test_other_threads_run_meanwhile(self):
        state = os.urandom(8 << 20)
        checkpoint = Checkpoint(1, 1, 1, 1, state)
        with Other() as other:
            self.assertTrue(other.counts_within(lambda: bit_hash(state)))
            self.assertTrue(other.counts_within(lambda: checkpoint.write(self.file)))
            self.assertTrue(other.counts_within(lambda: Checkpoint.read(self.file)))

    def test_a_state_over_the_limit_is_refused_as_input(self):
        most = Checkpoint.state_bytes_max
        Checkpoint(0, 0, 0, 0, self.sparse(most))
        with self.assertRaisesRegex(InputError, f"at most {most} bytes, found {most + 1}"):
            Checkpoint(0, 0, 0, 0, self.sparse(most + 1))

    def test_bytes_that_do_not_lie_one_after_the_other_are_refused(self):
        letters = memoryview(b"abcdefghijkl")
        for wrong in (letters[::2], letters[::-1]):
            for act in (bit_hash, lambda state: Checkpoint(0, 0, 0, 0, state)):
                with self.assertRaisesRegex(ValueError, "one after the other, found a stride of"):
                    act(wrong)
        with self.assertRaisesRegex(ValueError, "a row of bytes"):
            bit_hash(letters.cast("B", (3, 4)))
        self.assertEqual(bit_hash(letters[2:5]), bit_hash(b"cde"))
        self.assertEqual(bit_hash(letters[5:4:-1]), bit_hash(b"f"))
        self.assertEqual(bit_hash(letters[4:4]), bit_hash(b""))

    def test_what_the_system_refuses_has_its_number(self):
        with self.assertRaises(FileNotFoundError) as caught:
            Checkpoint(0, 0, 0, 0, b"").write(str(self.folder / "missing" / "checkpoint"))
        self.assertEqual(caught.exception.errno, errno.ENOENT)
        self.assertIn("missing", str(caught.exception))


class Packing(unittest.TestCase):
    def test_large_tensors_go_in_pieces(self):
        """None is written or read in one go that would hold heartbeats up."""
        large = torch.arange(5 << 20, dtype=torch.float32).reshape(5, 1 << 20)
        state = {"large": large, "turned": large.t(), "small": torch.ones(2, 3), "none": large[:0]}
        written = []
        with mock.patch.object(torch, "save", lambda tensors, _: written.extend(tensors)):
            pack(state)
        self.assertLessEqual(max(one.numel() * 4 for one in written), 16 << 20)
        back = unpack(memoryview(pack(state)))
        self.assertEqual(list(back), list(state))
        for name, one in state.items():
            self.assertTrue(torch.equal(back[name], one), name)

    def test_what_is_unpacked_is_not_copied_first(self):
        data = pack({"large": torch.ones(4 << 20)})
        with mock.patch.object(io, "BytesIO", wraps=io.BytesIO) as made:
            unpack(data)
        for call in made.call_args_list:  # torch's own, of a list of names
            self.assertLess(len(call.args[0]), 1 << 20)

    def test_a_state_is_sent_from_where_it_lies(self):
        state = os.urandom(1000)
        row = _row_of(state)
        self.assertEqual(row.numpy().tobytes(), state)
        self.assertEqual(row.data_ptr(), _row_of(state).data_ptr())


class Saving(ScratchTest):
    def test_a_state_over_the_limit_is_not_saved_and_the_worker_goes_on(self):
        said = []
        trainer = Trainer.__new__(Trainer)
        trainer._link = SimpleNamespace(
            at=lambda *_: None, send=lambda name, **fields: said.append((name, fields))
        )
        trainer._has_state = True
        trainer._job = trainer._step = trainer._position = 0
        trainer._plan = None
        size = Checkpoint.state_bytes_max + 1
        with open(self.folder / "sparse", "wb+") as file:
            file.truncate(size)
            state = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        trainer._replica = SimpleNamespace(state=lambda: state)
        trainer._save(SimpleNamespace(number=7, file=str(self.folder / "checkpoint")))
        ((name, fields),) = said
        self.assertEqual((name, fields["number"]), ("NotSaved", 7))
        self.assertIn("expected a state of at most", fields["why"])


if __name__ == "__main__":
    unittest.main()
