"""The members of one epoch, connected by Gloo; between GPUs gradients go by NCCL.

They meet in a file that has no name: it lies in the memory of rank 0, which says where. Members on
several hosts, whose network the user has said to be trusted, meet at a place of rank 0's
(meeting_place.py). A group can be aborted from another thread, by shutting its sockets: a thread
that waits in it comes back at once.
"""

import json
import os
import socket
import time
from contextlib import contextmanager
from datetime import timedelta
from ipaddress import ip_address
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch
import torch.distributed as dist

from ukemi.torch.gpus import carrier_of
from ukemi.torch.link import NO_ATTEMPT, Link
from ukemi.torch.meeting_place import MeetingError, MeetingPlace, Member

# From the moment at which all have said where they are, peers that live connect in milliseconds.
_CONNECT_S = 10.0
# A group whose sockets are shut lets go of its collectives in milliseconds, but for some: a send
# that Gloo's threads have lost between them waits for the collective's whole deadline. Who waits
# for it looks so often whether the group is aborted,
_LOOK_S = 0.05
# and what has not come back so long after a group was left is put aside with the group.
_LET_GO_S = 0.2
MEETING = "ukemi-rendezvous"
_MEETING_BYTES_MAX = 1 << 24


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """The file of the meeting, which must be one: its owner may have closed it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    except OSError as error:
        raise RuntimeError(f"rank 0 is gone: {error.strerror}") from error
    try:
        if not os.readlink(f"/proc/self/fd/{file}").startswith(f"/memfd:{MEETING}"):
            raise RuntimeError("rank 0 is gone: its file is another's")
        yield file
    finally:
        os.close(file)


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


def _as_group(
    backend: Any, kind: str, places: Sequence[str], store: Any, rank: int, size: int
) -> Any:
    """Since torch 2 what connects ranks is a backend, which a group of torch's calls by place."""
    group_kind: Any = dist.ProcessGroup
    if isinstance(backend, group_kind):
        return backend
    try:
        group = group_kind(store, rank, size)
    except TypeError:  # before torch 2.5
        group = group_kind(store, rank, size, group_kind.Options(kind))
    for place in places:
        group._register_backend(
            torch.device(place), getattr(group_kind.BackendType, kind.upper()), backend
        )
    return group


class _FileMeeting(dist.Store):  # type: ignore[misc]
    """On one machine: each appends its lines to one file, and reads the others'.

    Not torch's FileStore. When a group is destroyed, that opens its path once more. By then the
    number may be another file's, which it reads to an end that never comes, and the interpreter's
    lock is held meanwhile: the worker says nothing more until it is given up.
    """

    def __init__(self, file: int, end: float, is_over: Callable[[], bool]) -> None:
        super().__init__()
        self._file = file
        self._end = end
        self._is_over = is_over

    def close(self) -> None:
        """NCCL's own threads keep it, and may ask for it when the number is another file's."""
        self._file = -1

    def _said(self) -> Dict[str, str]:
        lines = os.pread(self._file, _MEETING_BYTES_MAX, 0).split(b"\n")[:-1]
        return dict(json.loads(line) for line in lines)

    def set(self, key: str, value: bytes) -> None:
        os.write(self._file, json.dumps([key, value.hex()]).encode() + b"\n")

    def get(self, key: str) -> bytes:
        self.wait([key])
        return bytes.fromhex(self._said()[key])

    def wait(self, keys: List[str], timeout: Optional[timedelta] = None) -> None:
        while not set(keys) <= self._said().keys():
            if self._is_over():
                raise RuntimeError("aborted")
            if time.monotonic() > self._end:
                raise RuntimeError("timed out: not everybody came")
            time.sleep(0.002)

    def check(self, keys: List[str]) -> bool:
        """Without waiting. NCCL's watchdog asks each second whether a peer wants to see its state."""
        return self._file >= 0 and set(keys) <= self._said().keys()


class _PlaceMeeting(dist.Store):  # type: ignore[misc]
    """On several hosts, at rank 0's place: each says it to all, and waits for what others say."""

    def __init__(self, at: Union[MeetingPlace, Member], end: float) -> None:
        super().__init__()
        self._at = at
        self._end = end
        self._waited: Dict[str, str] = {}  # for, and not fetched yet

    def set(self, key: str, value: bytes) -> None:
        with _as_torch_has_it():
            self._at.say(key, value.hex(), self._end)

    def get(self, key: str) -> bytes:
        self.wait([key])
        return bytes.fromhex(self._waited.pop(key))

    def wait(self, keys: List[str], timeout: Optional[timedelta] = None) -> None:
        with _as_torch_has_it():
            for key in keys:
                if key not in self._waited:
                    self._waited[key] = self._at.hear(key, self._end)

    def check(self, keys: List[str]) -> bool:
        """Of what has been waited for: a question from here would hold up the others' answers."""
        return set(keys) <= self._waited.keys()


@contextmanager
def _as_torch_has_it() -> Iterator[None]:
    try:
        yield
    except MeetingError as error:
        raise RuntimeError(str(error)) from error


# Process groups that were left while their threads still waited, and their works.
_aside: List[Tuple[List[Any], List[Any]]] = []


def _is_over(works: List[Any]) -> bool:
    return all(one.is_completed() for one in works)


def _host_among_others(address: str) -> str:
    """Nothing where all members are on one machine: there no store has to listen."""
    return "" if not address or ip_address(address).is_loopback else address


class Group:
    """One membership epoch. Its collectives are called by the training thread only."""

    def __init__(
        self,
        link: Link,
        epoch: int,
        attempt: int,
        rank: int,
        size: int,
        deadline_s: float,
        place: str,
        secret: bytes,
    ) -> None:
        self.epoch = epoch
        self.attempt = attempt
        self.rank = rank
        self.size = size
        self.process_group: Any = None
        self.gradients: Any = None  # what carries them: the same, or NCCL
        self._nccl: Any = None
        self.carrier = ""  # "gloo" or "nccl", between several
        self.on_host = True  # they go by way of the host's memory
        self._place = place  # of this rank's model
        self._link = link
        self._deadline_s = deadline_s
        self._aborted = False
        self._sockets: Dict[int, str] = {}
        # Where others reach this machine, if some are on another one (runtime/script_relay.hpp).
        self._host = _host_among_others(os.environ.get("UKEMI_HOST", ""))
        is_file = rank == 0 and not self._host
        self._memory = os.memfd_create(MEETING, os.MFD_CLOEXEC) if is_file else -1
        self._deadline = timedelta(seconds=min(_CONNECT_S, deadline_s))
        self._secret = secret  # the group's, for those on other hosts
        # Where these meet: rank 0 has the place, and the others come to it.
        self._at: Union[MeetingPlace, Member, None] = None
        if rank == 0 and self._host and size > 1:
            self._at = MeetingPlace(self._host, secret, size)
        self._meeting: Any = None
        self._works: List[Any] = []  # all that may still be under way
        link.watch(self)

    def address(self) -> bytes:
        """What the others must know: where the model is, and of rank 0 where all meet."""
        place = f"/proc/{os.getpid()}/fd/{self._memory}" if self._memory >= 0 else ""
        if isinstance(self._at, MeetingPlace):
            place = f"{self._host} {self._at.port}"
        return f"{self._place} {place}".encode()

    def connect(self, addresses: List[bytes]) -> None:
        """With everybody's address, by rank. Raises PeersFailed."""
        if self.size == 1:
            return
        said = [one.decode().partition(" ") for one in addresses]
        self.carrier = carrier_of([one[0] for one in said], dist.is_nccl_available())
        with self.collective("connecting"):
            before = _sockets()
            options = dist.ProcessGroupGloo._Options()
            options._devices = [dist.ProcessGroupGloo.create_device(hostname=self._host or "127.0.0.1")]
            options._timeout = timedelta(seconds=self._deadline_s)
            options._threads = 2
            with self._meets(said[0][2]) as meeting:
                self._meeting = meeting
                gloo = dist.ProcessGroupGloo(self._meeting, self.rank, self.size, options)
                # DistributedDataParallel sends shapes and running means from where the model is.
                self.process_group = _as_group(
                    gloo, "gloo", ("cpu", "cuda"), self._meeting, self.rank, self.size
                )
                self.gradients = self.process_group
                if self.carrier == "nccl":
                    self._connect_gpus()
            now = _sockets()
            self._sockets = {
                number: target for number, target in now.items() if before.get(number) != target
            }
        if self._aborted:
            self.abort()
            raise PeersFailed("aborted", "aborted")

    @contextmanager
    def _meets(self, place: str) -> Iterator[Any]:
        """The store in which the members find each other."""
        end = time.monotonic() + self._deadline.total_seconds()
        if not self._host:
            with _opened(place) as file:
                meeting = _FileMeeting(file, end, lambda: self._aborted)
                try:
                    yield meeting
                finally:
                    meeting.close()
            return
        if self._at is None:
            host, _, port = place.partition(" ")
            self._at = Member(host, int(port), self._secret, self.rank, self.size)
        if self._aborted:  # who did saw nothing to close
            raise RuntimeError("aborted")
        yield _PlaceMeeting(self._at, end)
        self._at.leave()

    def _connect_gpus(self) -> None:
        """The first sum makes the communicator, for which all must meet once more."""
        settings = dist.ProcessGroupNCCL.Options()
        settings._timeout = timedelta(seconds=self._deadline_s)
        if not self._host:
            os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")  # nothing else is listened on
        store = dist.PrefixStore("nccl", self._meeting)
        self._nccl = dist.ProcessGroupNCCL(store, self.rank, self.size, settings)
        self.gradients = _as_group(self._nccl, "nccl", ("cuda",), store, self.rank, self.size)
        self.gradients.allreduce([torch.zeros(1, device=self._place)]).wait()
        self.on_host = False

    def committed(self) -> None:
        """No order discards it from now on."""
        self.attempt = NO_ATTEMPT

    def abort(self) -> None:
        """From any thread. The numbers stay open, for other threads hold them."""
        self._aborted = True
        at = self._at
        if at is not None:
            at.abort()
        end_nccl = getattr(self._nccl, "abort", None)  # PyTorch 2 has it
        if end_nccl is not None:
            end_nccl()
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
            self.finish(self.issue(self.process_group.broadcast([tensor], options)))

    def issue(self, work: Any) -> Any:
        """Of a collective that has begun; finish() waits for it."""
        self._works.append(work)
        return work

    def finish(self, work: Any) -> None:
        """Raises what went wrong."""
        if work not in self._works:
            work.wait()
            return
        if self.on_host:
            self._wait_or_leave(work)
        else:
            self._poll(work)
        work.wait()
        self._works.remove(work)

    def _wait_or_leave(self, work: Any) -> None:
        """Until it is completed, or left because the group was aborted."""
        while not work.is_completed():
            try:
                work.wait(timedelta(seconds=_LOOK_S))
            except RuntimeError:  # it is late, or it has failed
                if self._aborted and not work.is_completed():
                    raise

    def _poll(self, work: Any) -> None:
        """The same beside GPUs: to wait there is to put the wait into the GPU's stream."""
        end = time.monotonic() + self._deadline_s
        while not work.is_completed():
            if self._aborted:
                raise RuntimeError("aborted")
            if time.monotonic() > end:
                raise RuntimeError("timed out: a sum on the GPU")
            time.sleep(50e-6)

    def close(self) -> None:
        """Takes leave of the others."""
        self._link.forget(self)
        # A group is destroyed with the interpreter's lock held, and waits for its threads; these
        # must not want that lock, as they do to give back what a work has the last hold of.
        end = time.monotonic() + _LET_GO_S
        while not _is_over(self._works) and time.monotonic() < end:
            time.sleep(0.001)
        _aside[:] = [one for one in _aside if not _is_over(one[1])]
        if not _is_over(self._works):
            _aside.append(([self.process_group, self.gradients], self._works))
        self.process_group = self.gradients = self._nccl = None
        self._works = []
        self._sockets = {}
        self._meeting = None
        if self._at is not None:
            self._at.close()
            self._at = None
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1
