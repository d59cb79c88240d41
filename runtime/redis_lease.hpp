// redis_lease.hpp — a run's lease as an entry of a Redis, where its agents find its coordinator.
//
// A coordinator says every second that it is there; one that has not for three is gone, by Redis's
// own clock. Who takes the lease, keeps it or gives it up does so by one script, all or nothing.
// The entry's name follows from the agents' secret, which is not sent. Redis is not trusted with
// more than that: who leads the run has to prove to each agent that it has the secret, and workers
// obey the highest term, whatever Redis says. One that is gone, frozen or empty costs a running
// group nothing; while it is, no other coordinator can follow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/socket_address.hpp"
#include "runtime/messages.hpp"
#include "runtime/run_lease.hpp"

namespace ukemi::runtime {

struct RedisPlace {
    SocketAddress address;
    std::string password{};  // none, if empty
    std::string key{};       // of the entry
    std::chrono::milliseconds lease_time{3000};
};

// "redis:127.0.0.1:6379", whose entry belongs to who has the agents' secret. InputError, which
// names `where`, for anything else, or if this build has no hiredis.
RedisPlace redis_place(std::string_view text, const std::string& password, const Secret& agents,
                       std::string_view where);

class RedisLease final : public RunLease {
public:
    // Waits for one that is about to run out. InputError if somebody keeps it, or the job is
    // another; std::system_error if Redis does not answer.
    RedisLease(RedisPlace place, const LeaseClaim& claim);
    ~RedisLease() override;

    void note_agents(const std::vector<std::string>& names) override;
    std::optional<std::string> lost_to() override;
    std::optional<std::string> take_problem() override;
    // Who leads the run, or did; nothing if nobody does. std::system_error if Redis does not
    // answer.
    static std::optional<RunLeader> leader(const RedisPlace& place);

private:
    void renew_until_ended();
    void renew();
    void give_up();

    RedisPlace place_;
    LeaseClaim claim_;
    std::string owner_;                // drawn
    std::vector<std::string> before_;  // what stood there: run, term, job, address and agents
    std::mutex mutex_;
    std::condition_variable changed_;
    bool ending_ = false;
    bool told_ = true;  // Redis, of the agents
    std::vector<std::string> agents_now_;
    std::optional<std::string> lost_;
    std::optional<std::string> problem_;
    bool silent_ = false;  // Redis, when last asked
    std::thread thread_;
};

}  // namespace ukemi::runtime
