"""Runs as DataFrames."""

import unittest

import ukemi


class Frames(unittest.TestCase):
    def test_rows_are_runs_and_columns_have_units(self):
        runs = ukemi.replay("demo", policies="greedy+daly,on_demand", seeds="1..2")
        frame = runs.frame()
        self.assertEqual(len(frame), 4)
        self.assertIn("cost_usd", frame.columns)
        self.assertEqual(list(frame["event_hash"]), runs.event_hashes)
        self.assertEqual(frame["cost_usd"].dtype, float)
        steps = ukemi.simulate("resnet50_on_p3").frame()
        self.assertEqual(len(steps), 1)

    def test_varied_keys_of_schedules_and_settings_of_searches_are_columns(self):
        frame = ukemi.schedule(
            "shared_cluster", schedulers="fifo", vary={"/restart": ["0 s", "1 min"]}
        ).frame()
        self.assertEqual(list(frame["/restart"]), ["0 s", "1 min"])
        self.assertEqual(frame["completion_s_mean"].dtype, float)
        found = ukemi.search("gradient_search", set={"/searchers": [{"name": "asha"}]}).frame()
        self.assertIn("/training/learning_rate", found.columns)
