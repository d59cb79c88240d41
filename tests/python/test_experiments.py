"""Experiments of the module against the commands of the same names."""

import json
import os
import shutil
import unittest

import ukemi
from support import SOURCE, ScratchTest

MARKET = SOURCE / "scenarios" / "market"


class Replay(ScratchTest):
    def test_runs_are_those_of_the_command(self):
        ours = ukemi.replay("demo", policies=["greedy+daly", ("on_demand",)], seeds=range(1, 4))
        theirs = self.command_runs(
            "replay", "demo", "--policies", "greedy+daly,on_demand", "--seeds", "1..3", "--no-files"
        )
        self.assertEqual(ours.rows, theirs)
        self.assertEqual(len(ours), 6)
        self.assertTrue(all(len(one) == 16 for one in ours.event_hashes))

    def test_what_is_set_and_varied_is_what_the_command_sets(self):
        ours = ukemi.replay(
            MARKET / "demo.json",
            policies="greedy+daly",
            set={"/job/checkpoint/cost": "30 s"},
            vary={"/job/deadline": ["50h", "70h"], "/cluster/count_max": [8]},
            threads=1,
        )
        theirs = self.command_runs(
            "replay", "demo", "--policies", "greedy+daly", "--no-files",
            "--set", "/job/checkpoint/cost=30 s",
            "--vary", "/job/deadline=50h,70h", "--vary", "/cluster/count_max=8",
        )  # fmt: skip
        self.assertEqual(ours.rows, theirs)
        self.assertEqual(ours.rows[0]["varied"]["/job/deadline"], "50h")

    def test_pairs_are_against_any_policy(self):
        runs = ukemi.replay("demo", policies="greedy+daly,on_demand", seeds="1..4")
        with self.assertRaisesRegex(ValueError, "baseline: expected"):
            runs.pairs()
        (pair,) = runs.pairs(baseline="on_demand")
        self.assertEqual((pair["policy"], pair["baseline"]), ("greedy+daly", "on_demand"))
        (turned,) = runs.pairs(baseline="greedy+daly")
        self.assertEqual(turned["policy"], "on_demand")
        with self.assertRaises(ukemi.InputError):
            runs.pairs(baseline="nobody")
        self.assertIn("on_demand", str(runs))
        self.assertEqual({row["policy"] for row in runs.policies}, {"greedy+daly", "on_demand"})

    def test_a_folder_is_saved_as_the_command_writes_it(self):
        runs = ukemi.replay("demo", policies="greedy+daly", seeds=2)
        self.assertEqual(runs.save(self.folder / "ours"), self.folder / "ours")
        self.command("replay", "demo", "--policies", "greedy+daly", "--seeds", "2", "--out", "theirs")
        for name in ("summary.csv", "runs.json", "policies.csv"):
            self.assertEqual(
                (self.folder / "ours" / name).read_text(), (self.folder / "theirs" / name).read_text()
            )
        with self.assertRaises(ukemi.InputError):
            runs.save(self.folder / "ours")
        runs.save(self.folder / "ours", force=True)
        again = ukemi.replay(self.folder / "ours")
        self.assertEqual(again.event_hashes, runs.event_hashes)

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is missing")
    def test_figures_and_the_report_are_text(self):
        runs = ukemi.replay("demo", policies="greedy+daly,on_demand", seeds="1..3")
        self.assertIn("cost_and_time", runs.figures())
        picture = runs.figure("cost_and_time")
        self.assertTrue(picture.lstrip().startswith("<?xml") or picture.startswith("<svg"))
        self.assertEqual(picture._repr_svg_(), picture)
        with self.assertRaisesRegex(ValueError, "no figure 'cost_and_tim'"):
            runs.figure("cost_and_tim")
        with self.assertRaisesRegex(ValueError, "nothing to show in it"):
            runs.figure("topology")
        page = runs.report()
        self.assertIn("greedy+daly", page)
        self.assertIn("</html>", page)

    def test_bad_input_is_an_input_error(self):
        for wrong in (
            {"policies": "gredy"},
            {"seeds": "one"},
            {"set": {"/job/dedline": "3 h"}},
            {"traces": "/nowhere/*.csv"},
            {"starts": "soon"},
            {"details": "fist"},
        ):
            with self.subTest(wrong), self.assertRaises(ukemi.InputError):
                ukemi.replay("demo", **wrong)
        with self.assertRaisesRegex(ukemi.InputError, "did you mean"):
            ukemi.replay("demmo")
        with self.assertRaisesRegex(ValueError, "at least one"):
            ukemi.replay("demo", policies=[])
        with self.assertRaisesRegex(TypeError, "list of values"):
            ukemi.replay("demo", vary={"/job/deadline": "50h"})
        self.assertTrue(issubclass(ukemi.InputError, ValueError))

    def test_nothing_at_all_is_no_wish_for_the_defaults(self):
        scratch = self.folder / "never.db"
        for command, wrong in (
            (ukemi.replay, {"policies": ""}),
            (ukemi.replay, {"policies": ["greedy", ()]}),
            (ukemi.replay, {"seeds": []}),
            (ukemi.replay, {"seeds": ""}),
            (ukemi.replay, {"seeds": range(3, 3)}),
            (ukemi.replay, {"traces": []}),
            (ukemi.replay, {"traces": ""}),
            (ukemi.schedule, {"seeds": []}),
            (ukemi.schedule, {"schedulers": []}),
            (ukemi.schedule, {"schedulers": ""}),
            (ukemi.sweep, {"seeds": [], "out": scratch}),
            (ukemi.sweep, {"schedulers": [], "out": scratch}),
        ):
            name = "demo" if command is not ukemi.schedule else "shared_cluster"
            (key,) = wrong.keys() - {"out"}
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, f"^{key}: .*at least one"):
                command(name, **wrong)
        self.assertFalse(scratch.exists())


# Those that take longer than a second are compared where UKEMI_EVERY_SCENARIO is set.
LONG = {
    "all_together", "average_when_large", "batch_schedules", "codecs_on_slow_links",
    "collectives_by_size", "elastic_batch", "elastic_network", "goyal", "measured_learners",
    "pollux_cifar10", "pollux_imagenet", "real_gradients", "real_policies",
}  # fmt: skip


def is_replayed(scenario):
    # Without one, many jobs share a cluster.
    return "job" in scenario and not is_simulated(scenario)


def is_simulated(scenario):
    cluster = scenario.get("cluster", ())  # of many jobs it is a list
    return isinstance(cluster, dict) and bool({"machine", "zones", "astra_sim"} & set(cluster))


class SameHashes(ScratchTest):
    def test_of_every_shipped_scenario_that_replay_runs(self):
        compared = 0
        for file in sorted((SOURCE / "scenarios").rglob("*.json")):
            if file.stem in LONG and "UKEMI_EVERY_SCENARIO" not in os.environ:
                continue
            if not is_replayed(json.loads(file.read_text())):
                continue
            with self.subTest(file.stem):
                ours = ukemi.replay(file, starts=1, seeds=1)
                theirs = self.command_runs(
                    "replay", str(file), "--starts", "1", "--seeds", "1", "--no-files"
                )
                self.assertEqual(ours.event_hashes, [run["event_hash"] for run in theirs])
                compared += 1
        self.assertGreater(compared, 35)


    def test_of_every_scenario_of_jobs_and_of_searches(self):
        compared = 0
        for command, folder in (("schedule", "jobs"), ("search", "search")):
            for file in sorted((SOURCE / "scenarios" / folder).glob("*.json")):
                if is_replayed(json.loads(file.read_text())):  # what one of the jobs runs
                    continue
                with self.subTest(file.stem):
                    ours = getattr(ukemi, command)(file)
                    theirs = self.command_runs(command, str(file))
                    self.assertEqual(ours.rows, theirs)
                    self.assertTrue(all(len(one) == 16 for one in ours.outcome_hashes))
                    compared += 1
        self.assertGreater(compared, 5)

    def test_of_every_shipped_scenario_that_simulate_runs(self):
        compared = 0
        for file in sorted((SOURCE / "scenarios").rglob("*.json")):
            if file.stem in LONG and "UKEMI_EVERY_SCENARIO" not in os.environ:
                continue
            if not is_simulated(json.loads(file.read_text())):
                continue
            with self.subTest(file.stem):
                theirs = json.loads(self.command("simulate", str(file), "--json"))
                self.assertEqual(ukemi.simulate(file).document, theirs)
                compared += 1
        self.assertGreater(compared, 10)

    def test_of_every_shipped_scenario_that_compare_runs(self):
        compared = 0
        for file in sorted((SOURCE / "scenarios").rglob("*.json")):
            if file.stem in LONG and "UKEMI_EVERY_SCENARIO" not in os.environ:
                continue
            scenario = json.loads(file.read_text())
            if not is_replayed(scenario) or "learning" not in scenario:
                continue
            with self.subTest(file.stem):
                ours = ukemi.compare(file, seeds=1, details="none")
                theirs = json.loads(
                    self.command("compare", str(file), "--seeds", "1", "--json")
                )
                self.assertEqual(ours._compared, theirs)
                compared += 1
        self.assertGreater(compared, 2)


class SchedulesAndSearches(ScratchTest):
    def test_schedules_are_those_of_the_command(self):
        ours = ukemi.schedule(
            "spot_cluster", schedulers=["fifo", "srtf"], seeds=range(1, 4), baseline="fifo"
        )
        theirs = json.loads(
            self.command("schedule", "spot_cluster", "--schedulers", "fifo,srtf", "--seeds", "1..3",
                         "--baseline", "fifo", "--json")
        )  # fmt: skip
        self.assertEqual(ours.rows, theirs["runs"])
        self.assertEqual(ours.means, theirs["means"])
        self.assertEqual(len(ours), 6)
        self.assertEqual(len(set(ours.outcome_hashes)), 6)
        self.assertEqual(ours.warnings, [])
        (pair,) = ours.pairs()
        self.assertEqual((pair["scheduler"], pair["baseline"]), ("srtf", "fifo"))
        (turned,) = ours.pairs(baseline="srtf")
        self.assertEqual(
            turned["completion_s_mean_difference_mean"], -pair["completion_s_mean_difference_mean"]
        )
        self.assertIn("spot_cluster: 6 jobs on 32 GPUs", str(ours))
        self.assertIn("completion_s", ours.jobs_csv().splitlines()[0])
        with self.assertRaisesRegex(ukemi.InputError, "expected one of the schedulers fifo, srtf"):
            ours.pairs(baseline="nobody")
        with self.assertRaises(ukemi.InputError):
            ukemi.schedule("demo")

    def test_a_folder_is_saved_as_the_command_writes_it(self):
        asked = dict(seeds="1,2", vary={"/restart": ["1 min", "10 min"]}, schedulers="fifo")
        ukemi.schedule("spot_cluster", **asked).save(self.folder / "ours")
        self.command("schedule", "spot_cluster", "--seeds", "1,2", "--vary", "/restart=1 min,10 min",
                     "--schedulers", "fifo", "--out", "theirs")  # fmt: skip
        for name in ("schedule.csv", "jobs.csv", "spans.csv", "schedule.json"):
            self.assertEqual(
                (self.folder / "ours" / name).read_text(),
                (self.folder / "theirs" / name).read_text(),
            )
        again = ukemi.schedule(self.folder / "ours")
        self.assertEqual(len(again), 4)

    def test_searches_are_those_of_the_command(self):
        searchers = [{"name": "random"}, {"name": "asha"}]
        ours = ukemi.search("gradient_search", set={"/searchers": searchers}, seeds="1,2", full=True)
        theirs = self.command_runs(
            "search", "gradient_search", "--set", f"/searchers={json.dumps(searchers)}", "--seeds",
            "1,2", "--full",
        )  # fmt: skip
        self.assertEqual(ours.rows, theirs)
        with self.assertRaisesRegex(ValueError, "baseline: expected"):
            ours.pairs()
        self.assertEqual(ours.pairs(baseline="random")[0]["searcher"], "asha")
        self.assertIn("trial", ours.trials_csv().splitlines()[0])

    @unittest.skipUnless(shutil.which("gnuplot"), "gnuplot is missing")
    def test_figures_and_the_report_are_text(self):
        runs = ukemi.schedule("shared_cluster", schedulers="fifo,srtf", baseline="fifo")
        self.assertIn("queue_over_time", runs.figures())
        self.assertIn("<svg", runs.figure("gpus_by_job"))
        self.assertIn("fifo", runs.report())

    def test_sweeps_of_both(self):
        for scenario, asked, runs in (
            ("spot_cluster", dict(schedulers=["fifo"]), 3),
            ("gradient_search", dict(set={"/searchers": [{"name": "asha"}]}), 3),
        ):
            with self.subTest(scenario):
                database = self.folder / f"{scenario}.db"
                made = ukemi.sweep(scenario, out=database, seeds="1..2", **asked)
                self.assertEqual((made.made, made.there), (2, 0))
                more = ukemi.sweep(scenario, out=database, seeds="1..3", resume=True, **asked)
                self.assertEqual((more.made, more.there), (1, 2))
        with self.assertRaisesRegex(ukemi.InputError, "--schedulers: is of jobs that share"):
            ukemi.sweep("demo", out=self.folder / "none.db", schedulers="fifo")


class OtherCommands(ScratchTest):
    def test_compare(self):
        ours = ukemi.compare("demo", policies="greedy+daly,on_demand", baseline="on_demand", seeds=1)
        theirs = json.loads(
            self.command("compare", "demo", "--policies", "greedy+daly,on_demand", "--baseline",
                         "on_demand", "--seeds", "1", "--json")
        )  # fmt: skip
        self.assertEqual(ours._compared, theirs)

    def test_simulate(self):
        ours = ukemi.simulate("resnet50_on_p3", vary={"/cluster/count": [1, 2]})
        theirs = json.loads(
            self.command("simulate", "resnet50_on_p3", "--vary", "/cluster/count=1,2", "--json")
        )
        self.assertEqual(ours.document, theirs)
        self.assertEqual(len(ours.rows), 2)

    def test_sweep_goes_on(self):
        database = self.folder / "runs.db"
        asked = dict(out=database, policies="greedy+daly,on_demand")
        first = ukemi.sweep("demo", seeds="1..3", **asked)
        self.assertEqual((first.made, first.there), (6, 0))
        more = ukemi.sweep("demo", seeds="1..5", resume=True, **asked)
        self.assertEqual((more.made, more.there), (4, 6))
        with self.assertRaises(ukemi.InputError):
            ukemi.sweep("demo", seeds="1..3", **asked)
        self.assertEqual(len(more), 10)
        self.assertEqual(len(more.rows), 10)
        (pair,) = more.pairs("on_demand")
        self.assertEqual((pair["policy"], pair["pairs"]), ("greedy+daly", 5))
        theirs = json.loads(self.command("query", str(database), "--json"))
        self.assertEqual(ukemi.query(database).rows, theirs["groups"])
        (only,) = ukemi.query(database, by=["policy"], where={"policy": "on_demand"}).rows
        self.assertEqual(only["runs"], 5)
        listed = ukemi.query(database, by=["policy"], metrics=["cost_usd"]).rows
        self.assertEqual(ukemi.query(database, by="policy", metrics="cost_usd").rows, listed)
        self.assertIn("on_demand", more.report())
        with self.assertRaises(ukemi.InputError):
            ukemi.query(database, by=["polcy"])

    def test_tune(self):
        ours = ukemi.tune(
            "demo", policy="greedy+periodic", over={"interval": "10min..4h:log"}, tries=3, seeds="1..3"
        )
        theirs = self.command(
            "tune", "demo", "--policy", "greedy+periodic", "--over", "interval=10min..4h:log",
            "--tries", "3", "--seeds", "1..3", "--json",
        )  # fmt: skip
        self.assertEqual(ours.rows, json.loads(theirs)["best"])
        self.assertIn("periodic", str(ours))

    def test_describe_and_fit(self):
        recorded = SOURCE / "tests/data/skynomad/v100_aws_1node_avail"
        trace = recorded / "us-west-2a_v100_1.csv.gz"
        theirs = json.loads(self.command("describe", str(trace), "--json"))
        self.assertEqual(ukemi.describe(trace), theirs["series"])
        fitted = ukemi.fit(trace, name="mine")
        self.assertEqual(fitted.text, self.command("fit", str(trace), "--name", "mine"))
        self.assertTrue(fitted.comparison)
        with self.assertRaises(ukemi.InputError):
            ukemi.describe(self.folder / "nothing.csv")
        with self.assertRaisesRegex(ValueError, "expected traces"):
            ukemi.fit()

    def test_report_of_folders(self):
        ukemi.replay("demo", policies="on_demand", seeds=1).save(self.folder / "one")
        self.assertIn("on_demand", ukemi.report(self.folder / "one"))
        with self.assertRaises(ukemi.InputError):
            ukemi.report(self.folder)
