// provider_log.hpp — what a provider of machines did in a live run (provider.jsonl), and the same
// done again to a simulated one.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/quantity.hpp"
#include "sim/engine/event.hpp"
#include "sim/market/fleet.hpp"

namespace ukemi::scenarios {

struct ProviderLog {
    struct Request {  // the k-th of the run
        explicit Request(Instant when) : at(when) {}
        Instant at;
        std::optional<Duration> refused;  // so long after it
        std::optional<Duration> granted;
        std::optional<Duration> ready;
        std::optional<Price> price;      // told with the grant
        std::optional<Instant> told_at;  // that it will be taken
        Instant lost_at;
    };
    std::vector<Request> requests;
    Instant ended;  // the run
    Dollars cost;   // of it
};

// The zones are those of the run's scenario, by number. InputError, with its line, for what no live
// run has written.
ProviderLog read_provider_log(const std::filesystem::path& file,
                              std::span<const std::string> zones);

// Answers the k-th request as the log has it: at the same moment, if it is made within a minute of
// that one, else after as long a time. A machine that was taken is taken at the same moment.
// Requests beyond those of the log are never answered.
class RecordedProvider final : public sim::Provider {
public:
    explicit RecordedProvider(const ProviderLog& log) : log_(&log) {}  // which outlives it

    void attach(sim::RunQueue& queue) { queue_ = &queue; }
    void ask(const sim::Instance& wanted, Instant now) override;
    void give_back(InstanceId instance, Instant now) override;

private:
    const ProviderLog* log_;
    sim::RunQueue* queue_ = nullptr;
    std::map<InstanceId, std::vector<sim::RunQueue::Ticket>> due_;
};

}  // namespace ukemi::scenarios
