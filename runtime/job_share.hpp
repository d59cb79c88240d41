// job_share.hpp — between a scheduler and one live job, each on a thread of its own: how many
// places the job may hold and how far it may train, and what it does with them.
//
// The scheduler's side orders; the job's LiveTrainer looks at the order whenever it waits, is woken
// for that, and reports what became of it. Places come to the job's World as those of agents do: as
// what its market has. So its own policies see them, and say what is made of them.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>
#include <string_view>

#include "base/file_descriptor.hpp"
#include "base/quantity.hpp"

namespace ukemi::runtime {

// Why a run has ended that may hold no places any more: its model is saved, and another run can go
// on from there.
inline constexpr std::string_view paused_run = "paused: its scheduler gives it no GPU";

struct ShareOrder {
    std::int32_t places = 0;                                                // 0: the run ends
    std::int64_t samples_until = std::numeric_limits<std::int64_t>::max();  // of the whole job
    friend bool operator==(const ShareOrder&, const ShareOrder&) = default;
};

struct ShareReport {
    ShareOrder order;            // that it is about
    std::int32_t processes = 0;  // of its workers, also of those that are leaving
    std::int32_t workers = 0;    // that train together
    std::int64_t samples = 0;    // of the whole job, in committed steps
    // Nothing is under way: its group stands where the order has it stand, or it is paused.
    bool stands = false;
    friend bool operator==(const ShareReport&, const ShareReport&) = default;
};

// What all jobs of a scheduler report by, so that it can wait for any of them.
class ShareNews {
public:
    std::mutex mutex;  // of everything that jobs tell
    void tell();       // that something is new; the mutex is not held
    std::uint64_t told();
    // Until something is new since it was told so often, or until then.
    void wait(std::uint64_t since, std::chrono::steady_clock::time_point until);

private:
    std::condition_variable changed_;
    std::uint64_t told_ = 0;
};

class JobShare {
public:
    explicit JobShare(ShareNews& news);

    void order(const ShareOrder& order);  // the scheduler's
    ShareReport last_report() const;
    // The job's:
    ShareOrder ordered();  // the last; the wake is taken back
    void report(const ShareReport& report);
    // Paused after so many samples: waits for places. False if it is to end: `stop` is not 0.
    bool wait_for_places(std::int64_t samples, const std::atomic<int>& stop);
    int wake() const { return wake_.get(); }

private:
    ShareNews& news_;
    FileDescriptor wake_;
    ShareOrder order_;
    ShareReport report_;
};

}  // namespace ukemi::runtime
