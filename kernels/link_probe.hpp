// link_probe.hpp — how soon bytes come from one host to another, and how many: measured between the
// hosts of a group by their first ranks.
//
// Hosts meet as the players of a tournament do: in a round each is in one pair at most, so that no
// measurement disturbs another, and after the last round every two have met. A step has one round
// at most, before its gradient, so that nobody waits for more than one pair; each exchange of it
// has the deadline that the Communicator has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/communicator.hpp"

namespace ukemi::kernels {

struct LinkSpeed {
    std::int64_t round_trip_ns =
        0;                        // of a few bytes, as a step's messages go: the shortest of some
    double bytes_per_second = 0;  // one way, while as much goes the other way
};

// Until every two of so many hosts have met; 0 for one host.
std::int32_t link_rounds(std::int32_t hosts);
// Whom this host meets in a round from 0; nobody where hosts are odd and it is left over.
std::optional<std::int32_t> met_in_round(std::int32_t host, std::int32_t hosts, std::int32_t round);

// Whether the operation of this name is a part of measure_link.
bool is_of_link_probe(std::string_view operation);

// Both ranks call it, and both learn about the same. Takes five round trips, and then a few
// messages of 64 KiB to 4 MiB: none more after one that took 25 ms.
Outcome measure_link(Communicator& peers, int peer, LinkSpeed& found);

// The rounds of one group. Every rank has one, and calls it before each step.
class LinkProbe {
public:
    // All hosts meet in the first steps of the group, and again from each `every_steps`-th one on;
    // 0: never.
    LinkProbe(Communicator& peers, std::int64_t every_steps);

    struct Met {
        std::int32_t host = 0;  // the other one
        LinkSpeed speed;
    };
    // What this rank has measured, if it is the one of the two that tells. All ranks leave it
    // together: nobody's wait for the pair is part of the step.
    Outcome before_step(std::int64_t step, std::optional<Met>& met);
    std::int32_t host() const { return host_; }  // of this rank; 0 if all are on one

private:
    Outcome meet(std::int32_t round, std::optional<Met>& met);

    Communicator& peers_;
    std::int64_t every_steps_;
    std::vector<std::int32_t> first_ranks_;  // of each host
    std::int32_t host_ = 0;
    std::optional<std::int64_t> first_step_;
};

}  // namespace ukemi::kernels
