"""The place where members on several hosts meet: at one address, and for those with the secret."""

import json
import socket
import threading
import time
import unittest

from ukemi.torch import meeting_place
from ukemi.torch.meeting_place import MeetingPlace, ask_place

SECRET = b"s" * 32


class Places(unittest.TestCase):
    def setUp(self):
        self.place = MeetingPlace("127.0.0.2", SECRET)
        self.addCleanup(self.place.close)

    def ask(self, question, secret=SECRET):
        return ask_place("127.0.0.2", self.place.port, secret, question, 5.0)

    def test_what_one_says_all_hear(self):
        self.assertEqual(self.ask(["said"]), {})
        self.ask(["set", "0/1", "00ff"])
        self.place.answer(["set", "1/0", "aa"])
        self.assertEqual(self.ask(["said"]), {"0/1": "00ff", "1/0": "aa"})
        self.ask(["set", "0/1", "01"])
        self.assertEqual(self.place.answer(["said"])["0/1"], "01")

    def test_it_listens_at_its_address_alone(self):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.place.port), timeout=5)

    def test_who_has_not_the_secret_neither_reads_nor_writes(self):
        with self.assertRaises(OSError):
            self.ask(["set", "0/1", "evil"], b"x" * 32)
        with self.assertRaises(OSError):
            self.ask(["said"], b"")
        self.assertEqual(self.ask(["said"]), {})

    def test_a_question_that_was_overheard_is_no_question(self):
        body = json.dumps(["set", "0/1", "00"]).encode()
        line = meeting_place._code(SECRET, b"n" * 16, b"question", body) + b" " + body + b"\n"
        with socket.create_connection(("127.0.0.2", self.place.port), timeout=5) as connection:
            connection.recv(16)
            connection.sendall(line)
            self.assertEqual(connection.recv(100), b"")
        self.assertEqual(self.ask(["said"]), {})

    def test_strangers_who_say_nothing_keep_nobody_out_for_long(self):
        silent = [
            socket.create_connection(("127.0.0.2", self.place.port), timeout=5) for _ in range(80)
        ]
        for one in silent:
            self.addCleanup(one.close)
        end = time.monotonic() + 20
        while True:
            try:
                self.ask(["set", "0/1", "00"])
                break
            except OSError:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)

    def test_whatever_is_said_there_it_goes_on(self):
        for words in (b"\n", b"x" * 100, b"\xff" * 70 + b" {}\n", b"a b c\n"):
            with socket.create_connection(("127.0.0.2", self.place.port), timeout=5) as connection:
                connection.sendall(words)
        threads = [
            threading.Thread(target=self.ask, args=(["set", str(i), "00"],)) for i in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(self.ask(["said"])), 20)


if __name__ == "__main__":
    unittest.main()
