"""What workers of a script say is what the C++ header says. Nothing here needs PyTorch."""

import json
import re
import unittest

from support import SOURCE, ScratchTest

from ukemi._core import bit_hash
from ukemi.torch import messages
from ukemi.torch.plan import Plan, PlanError, share_of

WIRE = {
    "std::uint8_t": "u8",
    "std::uint32_t": "u32",
    "std::uint64_t": "u64",
    "std::int32_t": "i32",
    "std::int64_t": "i64",
    "bool": "bool",
    "std::string": "text",
    "ByteString": "bytes",
    "Secret": "secret",
    "Activity": "activity",
    "Fault": "u8",
    "kernels::Outcome": "u8",
    "std::optional<kernels::StepReport>": "optional_report",
    "std::vector<PastStep>": "past_steps",
    "std::vector<std::uint32_t>": "list_u32",
    "std::vector<std::uint8_t>": "bytes",
    "std::vector<ByteString>": "list_bytes",
}
PLAN = (
    '{"accumulation":1,"batch_per_learner":256,"checkpoint_interval_ns":5,'
    '"checkpoint_on_notice":false,"codec":"none","codec_level":0.0,"collective":"automatic",'
    '"fleet":[],"global_batch":0,"layout":{"data":1,"pipeline":1,"tensor":1},'
    '"learners_per_gpu":1,"learning_rate":0.05,"synchronisation":"s_sgd","version":3,'
    '"workers_max":2}'
)


def struct_fields(header, name):
    body = re.search(rf"struct {name} \{{(\}};|.*?\n\}};)", header, re.S).group(1)
    lines = re.sub(r"//.*", "", body).split(";")
    found = (re.fullmatch(r"\s*([\w:<>]+) (\w+)(?: = [^=]+|\{\})?\s*", one) for one in lines)
    return [(one.group(2), one.group(1)) for one in found if one]


class Messages(ScratchTest):
    def test_they_are_those_of_the_header(self):
        header = (SOURCE / "runtime" / "messages.hpp").read_text()
        names = re.search(r"using Message =\s*std::variant<(.*?)>;", header, re.S).group(1)
        self.assertEqual([one.strip() for one in names.split(",")], list(messages.MESSAGES))
        for name, fields in messages.MESSAGES.items():
            expected = [(field, WIRE[kind]) for field, kind in struct_fields(header, name)]
            self.assertEqual(list(fields), expected, name)
        version = re.search(r"protocol_version = (\d+)", header).group(1)
        self.assertEqual(int(version), messages.PROTOCOL_VERSION)
        phases = re.search(r"enum class WorkerPhase : [\w:]+ \{(.*?)\};", header, re.S).group(1)
        phases = re.sub(r"//.*", "", phases)
        self.assertEqual(tuple(re.findall(r"\w+", phases)), messages.PHASES)

    def test_reports_are_those_of_the_header(self):
        header = (SOURCE / "kernels" / "training_step.hpp").read_text()
        codes = {"std::uint64_t": "Q", "std::int64_t": "q", "std::uint32_t": "I", "double": "d"}
        codes["std::int32_t"] = "i"
        words = [(field, codes[kind]) for field, kind in struct_fields(header, "StepWord")]
        self.assertEqual(list(messages.WORD_FIELDS), words)
        codes["bool"] = "?"
        rest = struct_fields(header, "StepReport")
        self.assertEqual(rest[0][0], "words")
        form = "<" + "".join(codes[kind] for _, kind in rest[1:])
        self.assertEqual(messages.REPORT_REST.format, form)

    def test_each_comes_back_as_it_went(self):
        usual = {
            "text": "Ünsinn", "bytes": b"\x00\xff", "secret": bytes(range(32)), "bool": True,
            "activity": (6, -3, 9), "list_u32": [1, 2**32 - 1], "list_bytes": [b"", b"abc"],
            "optional_report": messages.report_bytes(b"\1" * messages.WORD.size, 5, 0.5, 1.0,
                                                     (1.0, 2.0), 3.0, 4.0, 0.0, 7),
        }  # fmt: skip
        usual["past_steps"] = [(1, 2, usual["optional_report"])]
        for name, fields in messages.MESSAGES.items():
            sent = {field: usual.get(kind, 7) for field, kind in fields}
            unread = bytearray(messages.encode(name, **sent) + b"\x09")
            ((got, message),) = messages.take_frames(unread)
            self.assertEqual((got, vars(message)), (name, sent))
            self.assertEqual(unread, b"\x09")

    def test_what_is_no_message_is_refused(self):
        frame = messages.encode("Run", epoch=1, order=2, limit=3, holds_done=4)
        peers = messages.encode("Peers", attempt=1, addresses=[b"a"])
        wrong = [b"", b"\x63", frame[4:-1], frame[4:] + b"\0", peers[4:13] + b"\xff\xff\xff\x7f"]
        for bad in wrong:
            with self.assertRaises(messages.ProtocolError):
                messages.decode(bad)
        with self.assertRaises(messages.ProtocolError):
            messages.take_frames(bytearray(b"\xff\xff\xff\xff"))


class Plans(unittest.TestCase):
    def test_the_hash_is_that_of_the_header(self):
        # A bijection for each word, so a slip in any of the rounds would show in one of these.
        self.assertEqual(bit_hash(b""), BIT_HASHES[b""])
        self.assertEqual(bit_hash(b"ukemi"), BIT_HASHES[b"ukemi"])
        self.assertEqual(bit_hash(b"0123456789abcdef!"), BIT_HASHES[b"0123456789abcdef!"])

    def test_the_digest_is_of_what_was_understood(self):
        plan = Plan(PLAN)
        self.assertEqual(plan.digest, bit_hash(PLAN.encode()))
        shuffled = json.loads(PLAN)
        text = json.dumps(dict(reversed(shuffled.items())))
        self.assertEqual(Plan(text).digest, plan.digest)
        # Numbers are kept as they were written: "1e-05" and "0.00001" are one number.
        other = PLAN.replace("0.05", "1e-05")
        self.assertEqual(Plan(other).digest, bit_hash(other.encode()))
        self.assertEqual(plan.samples(3), 768)

    def test_what_cannot_be_trained_is_refused(self):
        for old, new, why in (
            ('"s_sgd"', '"local_sgd"', "local_sgd cannot"),
            ('"codec":"none"', '"codec":"top_q"', "no codec top_q"),
            ('"automatic"', '"ring"', "as PyTorch does"),
            ('"pipeline":1', '"pipeline":2', "data parallel"),
            ('"version":3', '"version":3,"mood":1', "with mood"),
            ('"version":3', '"version":true', "without version"),
            ('"batch_per_learner":256', '"batch_per_learner":0', "without samples"),
            ("{", "", "no JSON"),
        ):
            with self.assertRaisesRegex(PlanError, why):
                Plan(PLAN.replace(old, new, 1))

    def test_shares_are_contiguous_and_nearly_equal(self):
        self.assertEqual([share_of(10, rank, 3) for rank in range(3)], [(0, 4), (4, 3), (7, 3)])


# Of kernels::BitHash, from a program of its own.
BIT_HASHES = {
    b"": 0x6C94C26715DF4085,
    b"ukemi": 0xDD4CAFBBF559B57D,
    b"0123456789abcdef!": 0xBE4F222E75CE189B,
}

if __name__ == "__main__":
    unittest.main()
