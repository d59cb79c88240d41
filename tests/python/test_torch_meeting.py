"""The place where members on several hosts meet: at one address, and for those with the secret."""

import gc
import os
import resource
import select
import socket
import threading
import time
import unittest
from contextlib import suppress
from unittest import mock

from ukemi.torch import meeting_place
from ukemi.torch.meeting_place import MeetingError, MeetingPlace, Member

SECRET = b"s" * 32
HOST = "127.0.0.2"
# What Gloo says of a rank for each of the others, in hexadecimal digits.
DIGITS_PER_PEER = 290


def soon(seconds=5.0):
    return time.monotonic() + seconds


def descriptors():
    """What this process has open, each by what it is of."""
    found = set()
    for one in os.listdir("/proc/self/fd"):
        try:
            found.add(os.readlink("/proc/self/fd/" + one))
        except OSError:  # the folder's own
            pass
    return found


class PlaceTest(unittest.TestCase):
    def place(self, size):
        place = MeetingPlace(HOST, SECRET, size)
        self.addCleanup(place.close)
        return place

    def member(self, place, rank=1, secret=SECRET):
        member = Member(HOST, place.port, secret, rank, place._size)
        self.addCleanup(member.close)
        return member

    def stranger(self, place, says=b""):
        connection = socket.create_connection((HOST, place.port), timeout=5)
        self.addCleanup(connection.close)
        connection.sendall(says)
        return connection

    def is_sent_away(self, connection, within_s=5.0):
        """Whether nothing but the place's number came, and then the end."""
        connection.settimeout(within_s)
        heard = b""
        try:
            while True:
                some = connection.recv(1000)
                if not some:
                    break
                heard += some
        except ConnectionResetError:
            pass
        return len(heard) <= 16

    def meet(self, size, place=None):
        """All say where they are and hear of all, each in its process.

        Returns how long it takes, and the processor time of rank 0 and its place, to which it
        comes down where each has a machine of its own.
        """
        place = place or self.place(size)
        begun, told = os.pipe()
        members = []
        for rank in range(1, size):
            member = self.member(place, rank)
            process = os.fork()
            if process == 0:
                wrong = 1
                try:
                    os.close(told)
                    os.read(begun, 1)  # its end
                    wrong = self.take_part(member, rank, size)
                finally:
                    os._exit(wrong)
            members.append(process)
        os.close(told)
        start, worked = time.monotonic(), time.process_time()
        self.assertEqual(self.take_part(place, 0, size), 0)
        ends = [os.waitpid(one, 0)[1] for one in members]
        took_s, worked_s = time.monotonic() - start, time.process_time() - worked
        os.close(begun)
        self.assertEqual(ends, [0] * (size - 1))
        return took_s, worked_s

    def take_part(self, at, rank, size):
        """How many it did not hear."""
        end = soon(60)
        at.say(str(rank), f"{rank:0{DIGITS_PER_PEER * size}x}", end)
        heard = [int(at.hear(str(other), end), 16) for other in range(size)]
        at.leave()
        return sum(found != other for other, found in enumerate(heard))

    def expect_closed(self, place):
        end = soon()
        while True:
            try:
                socket.create_connection((HOST, place.port), timeout=5).close()
            except ConnectionRefusedError:
                return
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)


class Meetings(PlaceTest):
    def test_what_one_says_all_hear(self):
        place = self.place(3)
        one, two = self.member(place, 1), self.member(place, 2)
        one.say("1", "00ff", soon())
        place.say("0", "aa", soon())
        self.assertEqual(two.hear("1", soon()), "00ff")
        self.assertEqual(two.hear("0", soon()), "aa")
        self.assertEqual(place.hear("1", soon()), "00ff")
        one.say("1", "01", soon())
        self.assertEqual([two.hear("1", soon()), place.hear("1", soon())], ["01", "01"])

    def test_who_asks_waits_at_the_place(self):
        place = self.place(3)
        for waits in (self.member(place, 1), place):
            two = self.member(place, 2)
            threading.Timer(0.2, two.say, ("2", "beef", soon())).start()
            self.assertEqual(waits.hear("2", soon()), "beef")
            place._said.clear()
        threading.Timer(0.2, place.say, ("0", "cafe", soon())).start()
        self.assertEqual(self.member(place, 1).hear("0", soon()), "cafe")

    def test_what_nobody_says_is_waited_for_until_the_time_is_over(self):
        place = self.place(2)
        for waits in (self.member(place), place):
            begun = time.monotonic()
            with self.assertRaisesRegex(MeetingError, "timed out"):
                waits.hear("x", soon(0.3))
            self.assertLess(time.monotonic() - begun, 2)

    def test_thirty_two_and_sixty_four_meet(self):
        for size in (2, 32, 64):
            took_s, worked_s = self.meet(size)
            print(f"{size} members met in {took_s:.2f} s, of which rank 0 worked {worked_s:.2f} s")
            self.assertLess(worked_s, 5)

    def test_it_is_closed_when_all_have_left(self):
        place = self.place(8)
        self.meet(8, place)
        self.expect_closed(place)

    def test_it_is_open_until_then(self):
        place = self.place(3)
        one, two = self.member(place, 1), self.member(place, 2)
        one.say("1", "00", soon())
        one.leave()
        place.leave()
        self.assertEqual(two.hear("1", soon()), "00")
        two.leave()
        self.expect_closed(place)

    def test_what_is_too_long_is_said_to_be(self):
        place = self.place(2)
        long = "0" * meeting_place.line_bytes_max(2)
        for says in (place, self.member(place)):
            with self.assertRaisesRegex(MeetingError, "too long"):
                says.say("x", long + "0", soon())
        self.assertGreater(meeting_place.line_bytes_max(200), 2 * 200 * DIGITS_PER_PEER)

    def test_an_abort_is_heard_by_who_asks(self):
        place = self.place(2)
        full = socket.create_server((HOST, 0))  # which accepts nobody
        self.addCleanup(full.close)
        silent = Member(HOST, full.getsockname()[1], SECRET, 1, 2)
        for waits in (self.member(place), place, silent):
            threading.Timer(0.2, waits.abort).start()
            begun = time.monotonic()
            with self.assertRaisesRegex(MeetingError, "aborted"):
                waits.hear("x", soon(30))
            self.assertLess(time.monotonic() - begun, 2)

    def test_a_place_that_is_closed_is_not_asked_again(self):
        place = self.place(2)
        member = self.member(place)
        member.say("1", "00", soon())
        place.close()
        begun = time.monotonic()
        with self.assertRaisesRegex(MeetingError, "rank 0 is gone"):
            member.hear("0", soon(30))
        self.assertLess(time.monotonic() - begun, 2)

    def test_a_connection_that_is_lost_is_made_again(self):
        place = self.place(2)
        member = self.member(place)
        member.say("1", "00", soon())
        member._connection.shutdown(socket.SHUT_RDWR)
        self.assertEqual(member.hear("1", soon()), "00")

    def test_without_descriptors_it_pauses_and_goes_on(self):
        gc.collect()  # what tests before have left would give descriptors back in the midst of it
        place = self.place(2)
        held = [os.open("/dev/null", os.O_RDONLY)]
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        stranger = socket.socket()
        self.addCleanup(stranger.close)
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 1, limits[1]))
        try:
            while True:
                held.append(os.dup(held[0]))
        except OSError:
            pass
        try:
            stranger.connect((HOST, place.port))
            time.sleep(0.2)
            self.assertEqual(select.select([stranger], [], [], 0)[0], [])
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
            for one in held:
                os.close(one)
        self.assertEqual(len(stranger.recv(16)), 16)
        self.member(place).say("1", "00", soon())

    def test_without_a_thread_nothing_is_left_open(self):
        before = descriptors()
        with mock.patch.object(threading.Thread, "start", side_effect=RuntimeError("can't start")):
            try:
                MeetingPlace(HOST, SECRET, 2)
                self.fail("it started")
            except OSError as error:  # whose frames still have it
                self.assertIn("can't start", str(error))
                # Threads of the tests before may still be closing theirs.
                self.assertEqual(descriptors() - before, set())


class Strangers(PlaceTest):
    def test_it_listens_at_its_address_alone(self):
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", self.place(2).port), timeout=5)

    def test_who_has_not_the_secret_neither_reads_nor_writes(self):
        place = self.place(2)
        with self.assertRaisesRegex(MeetingError, "does not know this secret"):
            self.member(place, secret=b"x" * 32).say("0", "evil", soon(0.5))
        self.assertEqual(place._said, {})
        for made in (
            lambda: MeetingPlace(HOST, b"", 2),
            lambda: Member(HOST, place.port, b"", 1, 2),
        ):
            with self.assertRaisesRegex(ValueError, "expected a secret"):
                made()

    def overheard(self, place):
        """What a member and the place say to each other, as it passes between them."""
        way = socket.create_server((HOST, 0))
        said = [b"", b""]

        def pass_on():
            inner, _ = way.accept()
            outer = socket.create_connection((HOST, place.port), timeout=5)
            with inner, outer, suppress(ConnectionResetError):  # one side may go first
                while True:
                    for one in select.select([inner, outer], [], [])[0]:
                        some = one.recv(65536)
                        if not some:
                            return
                        said[one is outer] += some
                        (inner if one is outer else outer).sendall(some)

        thread = threading.Thread(target=pass_on)
        thread.start()
        member = Member(HOST, way.getsockname()[1], SECRET, 1, 2)
        member.say("1", "00", soon())
        self.assertEqual(member.hear("1", soon()), "00")
        member.leave()
        thread.join()
        way.close()
        return said

    def test_what_was_overheard_is_no_question(self):
        place = self.place(2)
        asked, _ = self.overheard(place)
        end = soon()
        while place._left != {1} and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(place._left, {1})
        place._said.clear()
        self.assertTrue(self.is_sent_away(self.stranger(place, asked)))
        self.assertEqual(place._said, {})

    def test_what_was_overheard_is_no_answer(self):
        _, answered = self.overheard(self.place(2))
        false_place = socket.create_server((HOST, 0))
        self.addCleanup(false_place.close)

        def answer():
            while True:
                try:
                    connection, _ = false_place.accept()
                except OSError:
                    return
                connection.sendall(answered)
                self.addCleanup(connection.close)

        threading.Thread(target=answer, daemon=True).start()
        member = Member(HOST, false_place.getsockname()[1], SECRET, 1, 2)
        with self.assertRaisesRegex(MeetingError, "does not have the group's secret"):
            member.say("1", "00", soon(0.5))
        false_place.shutdown(socket.SHUT_RDWR)

    def test_slow_strangers_keep_nobody_out(self):
        place = self.place(8)
        over = threading.Event()

        def drip():
            """Each one byte now and then; who is sent away comes again."""
            slow = []
            while not over.wait(0.1):
                for one in list(slow):
                    try:
                        one.send(b"x")
                    except OSError:
                        slow.remove(one)
                with suppress(OSError):  # the place is closed at the end
                    while len(slow) < 150:
                        slow.append(self.stranger(place))

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            time.sleep(0.3)
            self.meet(8, place)
        finally:
            over.set()
            thread.join()

    def test_a_stranger_has_two_seconds_in_all(self):
        place = self.place(2)
        stranger = self.stranger(place)
        begun = time.monotonic()
        with self.assertRaises(OSError):
            while time.monotonic() < begun + 10:
                stranger.send(b"x")
                time.sleep(0.1)
        self.assertLess(time.monotonic() - begun, 4)

    def test_a_stranger_says_a_few_hundred_bytes_at_most(self):
        place = self.place(2)
        self.assertTrue(self.is_sent_away(self.stranger(place, b"x" * 400), within_s=1.0))

    def test_whatever_is_said_there_it_goes_on(self):
        place = self.place(20)
        for words in (b"\n", b"x" * 100, b"\xff" * 70 + b" {}\n", b"a b c\n" * 5):
            self.stranger(place, words)
        self.meet(20, place)


if __name__ == "__main__":
    unittest.main()
