#include "base/parallel_for.hpp"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace ukemi {

// Threads of our own, not a library's: ThreadSanitizer sees how they are started and joined, so a
// data race between two calls is found and nothing else is reported.
void parallel_for(std::size_t count, int threads, const std::function<void(std::size_t)>& call) {
    // Relaxed: two calls that share something are not made to look ordered by this.
    std::atomic<std::size_t> next{0};
    const auto take = [&next] { return next.fetch_add(1, std::memory_order_relaxed); };
    const auto work = [&] {
        for (std::size_t index = take(); index < count; index = take()) call(index);
    };
    std::vector<std::jthread> helpers;
    const auto wanted = static_cast<std::size_t>(std::max(1, threads));
    try {
        while (helpers.size() + 1 < std::min(count, wanted)) helpers.emplace_back(work);
    } catch (const std::system_error&) {
        // The machine gives no more threads: the ones there are do it.
    }
    work();
}

}  // namespace ukemi
