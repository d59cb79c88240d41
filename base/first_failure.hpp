// first_failure.hpp — of what goes wrong in parallel work the failure that comes first in its
// order, whichever thread has it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>

#include "base/parallel_for.hpp"

namespace ukemi {

// As many threads as the machine runs at once.
inline int machine_threads() {
    return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

class FirstFailure {
public:
    // After a failure, what comes later in the order is not worth its time: nobody will see it.
    template <class Action>
    void guard(std::size_t index, Action action) {
        if (index > at_.load()) return;
        try {
            action();
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            if (index >= at_.load()) return;
            at_ = index;
            failure_ = std::current_exception();
        }
    }
    void rethrow() const {
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    std::atomic<std::size_t> at_{std::numeric_limits<std::size_t>::max()};
    std::exception_ptr failure_;
    std::mutex mutex_;
};

// parallel_for of calls that may throw: throws what the first of them threw, by their indices.
template <class Call>
void guarded_parallel_for(std::size_t count, int threads, Call call) {
    FirstFailure failure;
    parallel_for(count, threads,
                 [&](std::size_t index) { failure.guard(index, [&] { call(index); }); });
    failure.rethrow();
}

// On each thread, what `next` gives, an index, until it gives none.
template <class Next, class Call>
void take_groups(int threads, const Next& next, Call call) {
    FirstFailure failure;
    parallel_for(static_cast<std::size_t>(threads), threads, [&](std::size_t) {
        while (const std::optional<std::size_t> group = next()) {
            failure.guard(*group, [&] { call(*group); });
        }
    });
    failure.rethrow();
}

}  // namespace ukemi
