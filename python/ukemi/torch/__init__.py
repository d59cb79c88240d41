"""PyTorch training under ukemi's Controller: `ukemi train SCENARIO --script train.py`."""
