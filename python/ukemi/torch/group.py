"""The members of one epoch, connected by Gloo on this machine.

They meet in a file that has no name: it lies in the memory of rank 0, which says where. A group can
be aborted from another thread, by shutting its sockets: a thread that waits in it comes back at once.
"""

import os
import socket
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Dict, Iterator, List

import torch
import torch.distributed as dist

from ukemi.torch.link import NO_ATTEMPT, Link

# From the moment at which all have said where they are, peers that live connect in milliseconds.
_CONNECT_S = 10.0


class PeersFailed(Exception):
    """A collective came to nothing: a peer is gone, late, or the group was aborted."""

    def __init__(self, outcome: str, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome


def _sockets() -> Dict[int, str]:
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:  # the folder's own
            continue
        if target.startswith("socket:"):
            found[int(name)] = target
    return found


def _gloo_group(store: Any, rank: int, size: int, options: Any) -> Any:
    """Since torch 2 a group of Gloo's is a backend, which a group of torch's calls by device."""
    gloo: Any = dist.ProcessGroupGloo(store, rank, size, options)
    kind: Any = dist.ProcessGroup
    if isinstance(gloo, kind):
        return gloo
    try:
        group = kind(store, rank, size)
    except TypeError:  # before torch 2.5
        group = kind(store, rank, size, kind.Options("gloo"))
    group._register_backend(torch.device("cpu"), kind.BackendType.GLOO, gloo)
    return group


class Group:
    """One membership epoch. Its collectives are called by the training thread only."""

    def __init__(
        self, link: Link, epoch: int, attempt: int, rank: int, size: int, deadline_s: float
    ) -> None:
        self.epoch = epoch
        self.attempt = attempt
        self.rank = rank
        self.size = size
        self.process_group: Any = None
        self._link = link
        self._deadline_s = deadline_s
        self._aborted = False
        self._sockets: Dict[int, str] = {}
        self._memory = os.memfd_create("ukemi-rendezvous", os.MFD_CLOEXEC) if rank == 0 else -1
        link.watch(self)

    def address(self) -> bytes:
        """What the others must know: where rank 0's file is."""
        return f"/proc/{os.getpid()}/fd/{self._memory}".encode() if self.rank == 0 else b""

    def connect(self, addresses: List[bytes]) -> None:
        """With everybody's address, by rank. Raises PeersFailed."""
        if self.size == 1:
            return
        path = addresses[0].decode()
        with self.collective("connecting"):
            before = _sockets()
            store = dist.FileStore(path, self.size)
            store.set_timeout(timedelta(seconds=min(_CONNECT_S, self._deadline_s)))
            options = dist.ProcessGroupGloo._Options()
            options._devices = [dist.ProcessGroupGloo.create_device(hostname="127.0.0.1")]
            options._timeout = timedelta(seconds=self._deadline_s)
            options._threads = 2
            self.process_group = _gloo_group(store, self.rank, self.size, options)
            now = _sockets()
            self._sockets = {
                number: target for number, target in now.items() if before.get(number) != target
            }
        if self._aborted:
            self.abort()
            raise PeersFailed("aborted", "aborted")

    def committed(self) -> None:
        """No order discards it from now on."""
        self.attempt = NO_ATTEMPT

    def abort(self) -> None:
        """From any thread. The numbers stay open, for other threads hold them."""
        self._aborted = True
        for number, target in list(self._sockets.items()):
            try:
                if os.readlink(f"/proc/self/fd/{number}") != target:
                    continue
                copy = socket.socket(fileno=os.dup(number))
            except OSError:
                continue
            try:
                # A listener that is shut ends the process of a newer Gloo.
                if not copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    copy.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            finally:
                copy.close()

    @contextmanager
    def collective(self, what: str) -> Iterator[None]:
        """What goes wrong inside is a peer's failure, not the script's."""
        self._link.collectives += 1
        self._link.in_flight += 1
        try:
            yield
        except RuntimeError as error:
            raise self.failure(what, error) from error
        finally:
            self._link.in_flight -= 1

    def failure(self, what: str, error: BaseException) -> PeersFailed:
        """What an error that came out of a collective says."""
        text = " ".join(str(error).split())[:200]
        late = "imed out" in text or "imeout" in text
        outcome = "aborted" if self._aborted else "timed_out" if late else "peer_lost"
        return PeersFailed(outcome, f"{what}: {text}")

    def is_failure(self, error: BaseException) -> bool:
        """Whether an error in mid-step came from the exchange, and not from the script."""
        text = str(error)
        return self._aborted or "gloo" in text or "Socket Timeout" in text

    def broadcast(self, tensor: torch.Tensor, root: int, what: str) -> None:
        """From one to all others."""
        if self.size == 1:
            return
        options = dist.BroadcastOptions()
        options.rootRank = root
        options.rootTensor = 0
        assert self.process_group is not None
        with self.collective(what):
            self.process_group.broadcast([tensor], options).wait()

    def close(self) -> None:
        """Takes leave of the others."""
        self._link.forget(self)
        self.process_group = None
        self._sockets = {}
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1
