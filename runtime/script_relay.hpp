// script_relay.hpp — a worker of a script on another machine than its coordinator: the program of
// ours that stands beside it.
//
// The script's language has no connections as ours (rendezvous.hpp), so it is shown a plain door on
// 127.0.0.1, with a secret of that door's own, and what it says there goes on to the coordinator
// over ours, and back. It is a child, and ends with the relay; the relay ends with the coordinator:
// no successor of that one takes over such workers.
#pragma once

#include <string>

#include "runtime/crew.hpp"

namespace ukemi::runtime {

// As run_worker, for `PYTHON -m ukemi.torch.worker`, which exchanges with its peers at the address
// of this machine from which the coordinator is reached. Returns an exit status.
int run_script_relay(const std::string& python, InvitedBy invited);

}  // namespace ukemi::runtime
