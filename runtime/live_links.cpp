// live_links.cpp — what is between the hosts of a live group, as its workers' steps tell it.
#include <map>

#include "runtime/live_trainer.hpp"

namespace ukemi::runtime {

// Hosts of another group have other numbers.
void LiveTrainer::note_links(const kernels::StepReport& report, Instant at) {
    std::map<std::int32_t, InstanceId> first_of;  // of each host
    for (const kernels::StepWord& word : report.words) {
        if (word.rank < members_.size()) first_of.try_emplace(word.host, members_[word.rank]);
    }
    hosts_ = static_cast<std::int32_t>(first_of.size());
    for (const kernels::StepWord& word : report.words) {
        if (word.link_round_trip_ns <= 0 || !first_of.contains(word.link_host)) continue;
        LiveRecord::Link& link = record_->links[{word.host, word.link_host}];
        link.workers = {first_of.at(word.host), first_of.at(word.link_host)};
        link.at = at;
        link.round_trip = std::chrono::nanoseconds(word.link_round_trip_ns);
        link.bytes_per_second = word.link_bytes_per_second;
        ++link.times;
    }
}

}  // namespace ukemi::runtime
