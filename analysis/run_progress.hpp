// run_progress.hpp — work in parts that somebody watches, and may end.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

namespace ukemi::analysis {

// Called from any thread, one at a time, after each part of the work; what it throws ends it.
using RunProgress = std::function<void(std::size_t done, std::size_t total)>;
class SeenProgress {
public:
    SeenProgress(std::size_t total, const RunProgress& progress)
        : total_(total), progress_(progress) {}
    void one_more() {
        const std::scoped_lock lock(mutex_);
        ++done_;
        if (progress_) progress_(done_, total_);
    }

private:
    std::size_t total_;
    const RunProgress& progress_;
    std::mutex mutex_;
    std::size_t done_ = 0;
};

}  // namespace ukemi::analysis
