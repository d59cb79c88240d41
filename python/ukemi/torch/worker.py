"""One worker of `ukemi train --script`: python3 -m ukemi.torch.worker.

The coordinator starts it, and says in the environment where it listens. It obeys like the workers
that are ukemi's own (runtime/worker_trainer.hpp): whatever is new stands beside the old until the
coordinator commits it.
"""

import json
import os
import sys
import time
import traceback

from ukemi.torch.link import InvitationError, Link, take_invitation
from ukemi.user_file import error_line


def _complain(problem: str, status: int) -> int:
    print(f"ukemi worker: {problem}", file=sys.stderr, flush=True)
    return status


def main() -> int:
    """Until told to leave, or the coordinator is gone. Returns an exit status."""
    try:
        invitation = take_invitation()
    except InvitationError as error:
        return _complain(str(error), 2)
    # As torchrun does: workers share the machine.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Before anybody listens for a heartbeat: it takes seconds, and lets no other thread run.
    try:
        from ukemi.torch.trainer import Trainer
    except ImportError as error:
        return _complain(f"PyTorch cannot be imported: {error}", 1)
    try:
        link = Link(invitation)
    except (OSError, ValueError) as error:
        return _complain(str(error) or "the coordinator does not answer", 1)
    try:
        training = json.loads(link.welcome.training)
        if "script" not in training:
            raise ValueError("the scenario's training has no script")
        Trainer(link, training).run()
    except Exception as error:  # the script's, mostly: the coordinator is told what it was
        traceback.print_exc()
        link.send("Trouble", why=_sentence(error))
        time.sleep(0.05)
        return 1
    return 0


def _sentence(error: BaseException) -> str:
    """The error, and where in the script it arose."""
    torch = sys.modules["torch"].__file__ or ""
    not_the_scripts = (os.path.dirname(__file__), os.path.dirname(torch), "<")
    return error_line(error, lambda name: not name.startswith(not_the_scripts))


if __name__ == "__main__":
    exit_status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of Gloo, and of the script, may still wait for somebody.
    os._exit(exit_status)
