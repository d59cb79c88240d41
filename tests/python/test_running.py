"""How the module runs: interrupts, progress, other threads, the time of an import."""

import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import ukemi


class Running(unittest.TestCase):
    def test_an_interrupt_ends_it_soon(self):
        # A shell that starts programs in the background has them ignore it.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        begun = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            ukemi.replay("demo", policies="greedy+daly", seeds="1..200000", progress=False)
        self.assertLess(time.monotonic() - begun, 60)
        timer.join()
        self.assertEqual(len(ukemi.replay("demo", policies="greedy+daly", seeds=1)), 1)

    def test_an_interrupt_ends_it_in_the_midst_of_a_run(self):
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        asked = 0

        class AsksOften(ukemi.Policy):
            knobs = ("market",)

            def on_event(self, kind, view):
                nonlocal asked
                asked += 1
                if asked == 1000:
                    os.kill(os.getpid(), signal.SIGINT)
                return ukemi.Decision(ask_again_in_ns=10_000_000)

        with self.assertRaises(KeyboardInterrupt):
            ukemi.replay("demo", policies=AsksOften, seeds=1, progress=False)
        self.assertLess(asked, 1_000_000)  # of 18 million in 50 h

    def test_one_that_asks_again_at_once_for_ever_is_named(self):
        class Impatient(ukemi.Policy):
            knobs = ("market",)

            def on_event(self, kind, view):
                return ukemi.Decision(ask_again_in_ns=1)

        asked = "impatient asked to be asked again 100000 times"
        with self.assertRaisesRegex(ukemi.InputError, asked):
            ukemi.replay("demo", policies=Impatient, seeds=1, progress=False)

    def test_progress_is_told_and_may_end_it(self):
        told = []
        ukemi.replay("demo", policies="on_demand", seeds="1..3", progress=lambda *at: told.append(at))
        self.assertEqual(told[-1], (3, 3))

        def enough(done, total):
            raise StopIteration

        with self.assertRaises(StopIteration):
            ukemi.replay("demo", policies="greedy+daly", seeds="1..200000", progress=enough)

    def test_other_threads_go_on(self):
        counted = 0
        over = threading.Event()

        def count():
            nonlocal counted
            while not over.is_set():
                counted += 1
                time.sleep(0.001)

        thread = threading.Thread(target=count)
        thread.start()
        ukemi.replay("demo", policies="greedy+daly", seeds="1..200", progress=False)
        over.set()
        thread.join()
        self.assertGreater(counted, 1)

    def test_an_import_needs_nothing_else(self):
        imported = subprocess.run(
            [sys.executable, "-c", "import sys, ukemi; print(*sys.modules)"],
            stdout=subprocess.PIPE, check=True, text=True,
        ).stdout.split()  # fmt: skip
        for heavy in ("pandas", "numpy", "torch", "matplotlib"):
            self.assertNotIn(heavy, imported)
