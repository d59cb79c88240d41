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
