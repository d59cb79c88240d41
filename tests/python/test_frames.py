"""Runs as DataFrames: the tables of the commands."""

import sys
import unittest
import unittest.mock

from support import ScratchTest

import ukemi


class Frames(ScratchTest):
    def test_rows_are_runs_and_columns_have_units(self):
        runs = ukemi.replay("demo", policies="greedy+daly,on_demand", seeds="1..2")
        frame = runs.runs
        self.assertEqual(len(frame), 4)
        self.assertEqual(list(frame["event_hash"]), runs.event_hashes)
        self.assertEqual(list(frame["cost_usd"]), [row["cost_usd"] for row in runs.rows])
        steps = ukemi.simulate("resnet50_on_p3", vary={"/cluster/count": [1, 2]}).runs
        self.assertEqual(list(steps["cluster_count"]), [1, 2])
        self.assertEqual(steps["step_s_mean"].dtype, float)

    def test_columns_are_those_of_the_folder(self):
        import pandas

        runs = ukemi.replay(
            "demo", policies="on_demand", seeds=1, vary={"/job/deadline": ["50h", "60h"]}
        )
        self.assertEqual(list(runs.runs["job_deadline_s"]), [180_000, 216_000])
        there = pandas.read_csv(runs.save(self.folder / "there") / "summary.csv")
        self.assertEqual(list(runs.runs.columns), list(there.columns))

    def test_varied_keys_of_schedules_and_settings_of_searches_are_columns(self):
        frame = ukemi.schedule(
            "shared_cluster", schedulers="fifo", vary={"/restart": ["0 s", "1 min"]}
        ).runs
        self.assertEqual(list(frame["scenario_restart_s"]), [0, 60])
        self.assertEqual(frame["completion_s_mean"].dtype.kind, "i")  # whole seconds here
        found = ukemi.search("gradient_search", set={"/searchers": [{"name": "asha"}]}).runs
        self.assertIn("training_learning_rate", found.columns)

    def test_of_a_database(self):
        made = ukemi.sweep(
            "demo", out=self.folder / "runs.db", policies="greedy+daly,on_demand", seeds="1..3"
        )
        self.assertEqual(len(made), 6)
        self.assertEqual(len(made.runs), 6)
        self.assertEqual(set(made.runs["policy"]), {"greedy+daly", "on_demand"})
        self.assertEqual(len(ukemi.query(made.database, by=["policy"]).frame()), 2)

    def test_without_pandas_the_error_says_what_there_is(self):
        runs = ukemi.replay("demo", policies="on_demand", seeds=1)
        with unittest.mock.patch.dict(sys.modules, {"pandas": None}):
            with self.assertRaisesRegex(ImportError, r"\.rows has the same as dicts"):
                _ = runs.runs


if __name__ == "__main__":
    unittest.main()
