// stop_signals.hpp — SIGINT, SIGTERM and SIGHUP as requests that work comes to its end.
#pragma once

#include <atomic>
#include <cstdint>

namespace ukemi::cli {

enum class SecondSignal : std::uint8_t {
    counts,  // of SIGINT: as a second request
    kills,   // the process, as without us
};

// From then on such a signal only counts: the requests so far, of which two are half a second apart
// at least. A write to what nobody reads, or beyond what a file may hold, fails from then on, and
// does not kill.
const std::atomic<int>& watch_stop_signals(SecondSignal second);

// A signal that ends this process takes the locks of what it writes along. For all that watches
// none itself.
void remove_locks_when_killed();

// What shells call the end by the signal that came first.
int stopped_exit_code();

}  // namespace ukemi::cli
