#include "analysis/database/run_writer.hpp"

#include <chrono>
#include <utility>

namespace ukemi::analysis {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t waiting_most = 4096;
constexpr std::size_t worth_waking = 512;  // else whatever waits is taken ten times a second
constexpr auto look_after = std::chrono::milliseconds(100);
constexpr auto commit_after = std::chrono::milliseconds(350);

}  // namespace

RunWriter::RunWriter(RunDatabase& database) : database_(database) {
    thread_ = std::jthread([this] {
        try {
            write();
        } catch (...) {
            const std::scoped_lock lock(mutex_);
            failure_ = std::current_exception();
            failed_ = true;
            waiting_.clear();
        }
        changed_.notify_all();
    });
}

RunWriter::~RunWriter() {
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
}

void RunWriter::add(SweptRun run) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < waiting_most || failed_; });
    if (failed_) return;
    waiting_.push_back(std::move(run));
    if (waiting_.size() == worth_waking) changed_.notify_all();
}

void RunWriter::finish() {
    {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
}

// False once no more can come.
bool RunWriter::take_waiting(std::vector<SweptRun>& runs) {
    runs.clear();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, look_after, [&] { return waiting_.size() >= worth_waking || ended_; });
    runs.swap(waiting_);
    const bool more = !ended_;
    lock.unlock();
    changed_.notify_all();
    return more;
}

void RunWriter::write() {
    std::vector<SweptRun> runs;
    std::int64_t added = 0;  // since the last commit
    Clock::time_point begun;
    for (bool more = true; more;) {
        more = take_waiting(runs);
        for (const SweptRun& run : runs) {
            if (added++ == 0) {
                database_.begin();
                begun = Clock::now();
            }
            database_.add(run);
        }
        if (added == 0 || (more && Clock::now() - begun < commit_after)) continue;
        database_.commit();
        committed_ += std::exchange(added, 0);
    }
}

}  // namespace ukemi::analysis
