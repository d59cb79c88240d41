// run_writer.hpp — runs on their way into a database, from many threads.
//
// A thread of its own writes them, so that runs do not wait for the disk, and commits at least
// twice a second: what a killed process loses is what was under way and what ended in the last half
// second. No more than some thousands wait; who adds one then waits as well.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "analysis/database/run_database.hpp"

namespace ukemi::analysis {

class RunWriter {
public:
    explicit RunWriter(RunDatabase& database);
    ~RunWriter();  // writes what waits
    RunWriter(const RunWriter&) = delete;
    RunWriter& operator=(const RunWriter&) = delete;

    void add(SweptRun run);  // any thread; after a failure, nothing
    bool has_failed() const { return failed_; }
    // All is written, or throws what went wrong. Nothing is added afterwards.
    void finish();
    std::int64_t committed() const { return committed_; }

private:
    void write();
    bool take_waiting(std::vector<SweptRun>& runs);

    RunDatabase& database_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<SweptRun> waiting_;
    bool ended_ = false;
    std::atomic<bool> failed_ = false;
    std::atomic<std::int64_t> committed_ = 0;
    std::exception_ptr failure_;
    std::jthread thread_;
};

}  // namespace ukemi::analysis
