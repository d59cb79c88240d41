"""python3 -m ukemi.torch: on what workers of a script compute here.

UKEMI_DEVICE=cuda asks for a GPU.
"""

import sys

from ukemi.torch.gpus import device


def main() -> int:
    """A line; 2 where what was asked for is not there."""
    try:
        import torch

        place = device()
    except (ImportError, RuntimeError) as error:
        print(f"ukemi: {error}", file=sys.stderr)
        return 2
    carrier = "NCCL between GPUs of their own, else Gloo"
    nccl = torch.distributed.is_nccl_available()
    print(f"PyTorch {torch.__version__}: {place}; gradients by {carrier if nccl else 'Gloo'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
