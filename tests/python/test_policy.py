"""Policies that are written in Python: beside those in C++, in logs, and when they are wrong."""

import random

import ukemi
from support import ScratchTest


class SpotWhileThere(ukemi.Policy):
    """Spot while there is enough of it, else nothing: spot_only of C++, in Python."""

    knobs = ("market",)

    def before_train(self, view):
        return self.on_event("clock", view)

    def on_event(self, kind, view):
        seen = view.seen
        if seen.samples_done >= seen.samples_total:
            return ukemi.Decision(market="none", reason="done")
        if max(seen.spot_capacity, seen.spot_held) >= seen.workers_min:
            return ukemi.Decision(market="spot", reason="spot is there")
        return ukemi.Decision(market="none", reason="wait for spot")


class MyRule(ukemi.Policy):
    """Spot while there is some; on demand after a while without any."""

    knobs = ("market",)
    short_parameter = "wait_h"

    def __init__(self, wait_h=1.0):
        self.wait_ns = ukemi.hours(wait_h)
        self.gone_since_ns = None

    def before_train(self, view):
        return self.on_event("clock", view)

    def on_event(self, kind, view):
        seen = view.seen
        if seen.spot_capacity >= view.plan.workers_max:
            self.gone_since_ns = None
            return ukemi.Decision(market="spot", reason="there is spot")
        if self.gone_since_ns is None:
            self.gone_since_ns = seen.now_ns
        waited = seen.now_ns - self.gone_since_ns
        if waited >= self.wait_ns:
            return ukemi.Decision(market="on_demand", reason="waited long enough")
        return ukemi.Decision(ask_again_in_ns=self.wait_ns - waited)


class Raises(ukemi.Policy):
    knobs = ("market",)

    def on_event(self, kind, view):
        if view.seen.now_ns > ukemi.hours(5):
            raise KeyError("nothing here")
        return None


class Fickle(ukemi.Policy):
    """What it says is drawn by chance, and not from view.uniform()."""

    knobs = ("market",)

    def on_event(self, kind, view):
        return ukemi.Decision(market=random.choice(["spot", "on_demand"]))


class Keeps(ukemi.Policy):
    knobs = ()
    kept = []

    def on_event(self, kind, view):
        Keeps.kept.append((view, view.seen, view.plan))


class InReplays(ScratchTest):
    def test_does_what_the_same_rule_in_cpp_does(self):
        runs = ukemi.replay("demo", policies=[SpotWhileThere, "spot_only"], seeds=range(1, 6))
        ours = [run for run in runs.rows if run["policy"] == "spot_while_there"]
        theirs = [run for run in runs.rows if run["policy"] == "spot_only"]
        self.assertEqual(len(ours), 5)
        for mine, other in zip(ours, theirs):
            self.assertEqual(mine["event_hash"], other["event_hash"])
            self.assertEqual(mine["cost_usd"], other["cost_usd"])

    def test_runs_beside_others_and_has_parameters(self):
        ukemi.register(MyRule)
        runs = ukemi.replay("demo", policies="my_rule:0.5+daly,my_rule:wait_h=4+daly", seeds=1)
        costs = [run["cost_usd"] for run in runs.rows]
        self.assertEqual(len(set(costs)), 2)
        again = ukemi.replay("demo", policies=[(MyRule, "daly")], threads=2, seeds="1..4")
        self.assertEqual(again.rows[0]["policy"], "my_rule+daly")
        alone = ukemi.replay("demo", policies=[(MyRule, "daly")], threads=1, seeds="1..4")
        self.assertEqual(again.event_hashes, alone.event_hashes)

    def test_a_log_of_it_replays(self):
        runs = ukemi.replay("demo", policies=MyRule, seeds=1, log_observations=True)
        log = self.folder / "decisions.jsonl"
        log.write_text(runs.decisions(0))
        replayed = ukemi.replay_log(log)
        self.assertGreater(replayed.decisions, 2)
        self.assertEqual((replayed.answered_otherwise, replayed.differences), (0, []))

    def test_one_that_is_not_a_function_of_what_it_sees_is_found(self):
        runs = ukemi.replay("demo", policies=Fickle, seeds=1, log_observations=True)
        log = self.folder / "decisions.jsonl"
        log.write_text(runs.decisions(0))
        replayed = ukemi.replay_log(log)
        self.assertGreater(replayed.answered_otherwise, 0)
        self.assertIn("the log says", replayed.differences[0])


def called_mine(factor):
    class Mine(ukemi.Policy):
        knobs = ("market",)

        def on_event(self, kind, view):
            return ukemi.Decision(market="spot", ask_again_in_ns=factor)

    return Mine


class WhenTheyAreWrong(ScratchTest):
    def test_two_classes_of_one_name_are_refused(self):
        first, second = called_mine(1), called_mine(2)
        with self.assertRaisesRegex(ValueError, "two classes are called 'mine'"):
            ukemi.replay("demo", policies=[first, (second, "daly")], seeds=1)
        with self.assertRaisesRegex(ValueError, "two classes are called 'mine'"):
            ukemi.replay("demo", policies=first, baseline=second, seeds=1)

    def test_a_wait_that_ends_never_is_an_exception(self):
        for wait in (0, 2**62, 2**63 - 1):
            self.fails(called_mine(wait), "ask_again_in_ns: expected 1 ns to 36,600 days")


    def fails(self, policy, pattern):
        with self.assertRaisesRegex(ukemi.PolicyError, pattern) as caught:
            ukemi.replay("demo", policies=policy, seeds="1..2")
        return caught.exception

    def test_an_exception_ends_the_run_with_its_traceback_and_time(self):
        error = self.fails(Raises, "(?s)policy raises, on_event about .* of scenario time: KeyError")
        self.assertIsInstance(error.__cause__, KeyError)
        self.assertIn("test_policy.py", str(error))
        self.assertIsNotNone(error.__cause__.__traceback__)

    def test_what_it_returns_is_checked(self):
        class SaysWords(ukemi.Policy):
            knobs = ("market",)

            def on_event(self, kind, view):
                return "spot"

        class TurnsMore(ukemi.Policy):
            knobs = ("market",)

            def on_event(self, kind, view):
                return ukemi.Decision(workers_max=3)

        self.fails(SaysWords, "expected a Decision or None, found 'spot'")
        self.fails(TurnsMore, "turns workers, and its knobs are market")

    def test_decisions_and_observations_know_their_fields(self):
        with self.assertRaisesRegex(ValueError, "market: expected one of .*, found 'cheap'"):
            ukemi.Decision(market="cheap")
        with self.assertRaisesRegex(TypeError, "Decision has no field markt"):
            ukemi.Decision(markt="spot")
        with self.assertRaisesRegex(ValueError, "ask_again_in_ns: expected 1 ns to 36,600 days"):
            ukemi.Decision(ask_again_in_ns=0)
        with self.assertRaisesRegex(TypeError, "Observation has no field now"):
            ukemi.Observation(now=3)
        seen = ukemi.Observation(now_ns=3, zones=[{"zone": 1, "spot_capacity": 4}])
        self.assertEqual(seen.zones[0].spot_capacity, 4)
        self.assertIsNone(seen.deadline_ns)
        plan = ukemi.Plan(fleet=[{"zone": 0, "market": "spot", "count": 2}], workers_max=2)
        self.assertEqual(plan.after(ukemi.Decision(market="on_demand")).market, "on_demand")
        self.assertEqual((plan.market, plan.count), ("spot", 2))

    def test_parameters_that_it_does_not_have_are_input_errors(self):
        ukemi.register(MyRule)
        with self.assertRaisesRegex(ukemi.InputError, "wait_d"):
            ukemi.replay("demo", policies="my_rule:wait_d=3")
        with self.assertRaisesRegex(ukemi.InputError, "my_rul"):
            ukemi.replay("demo", policies="my_rul")

    def test_names_and_knobs_are_checked(self):
        class Taken(ukemi.Policy):
            name = "greedy"

        class Knobless(ukemi.Policy):
            knobs = ("markets",)

            def on_event(self, kind, view):
                return None

        with self.assertRaisesRegex(ValueError, 'there is a policy "greedy" already'):
            ukemi.register(Taken)
        with self.assertRaisesRegex(ukemi.InputError, "knobs: expected some of"):
            ukemi.replay("demo", policies=Knobless)
        with self.assertRaises(TypeError):
            ukemi.replay("demo", policies=[3])

    def test_a_view_that_is_kept_says_so(self):
        ukemi.replay("demo", policies=[(Keeps, "spot_only")], seeds=1)
        view, seen, plan = Keeps.kept[0]
        for look in (
            lambda: view.instances_max,
            lambda: seen.now_ns,
            lambda: plan.workers_max,
        ):
            with self.assertRaisesRegex(RuntimeError, "only there while"):
                look()
