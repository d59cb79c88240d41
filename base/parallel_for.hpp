// parallel_for.hpp — one function called with many indices, on several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace ukemi {

// Calls `call` with each index below `count`, in no particular order, on at most `threads` threads,
// the caller's among them, and returns when all calls have. They must not throw. Meant for calls
// that take milliseconds: an index costs one atomic addition, and threads are started each time.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& call);

}  // namespace ukemi
