// link_probe.cpp — two ranks send each other a little, then more, and look at the clock.
#include "kernels/link_probe.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <span>

#include "base/invariant.hpp"

namespace ukemi::kernels {
namespace {

using ProbeClock = std::chrono::steady_clock;

constexpr int round_trips = 4;  // that are measured, after one that is not
constexpr std::size_t bytes_first = std::size_t{64} << 10;
constexpr std::size_t bytes_most = std::size_t{4} << 20;
constexpr std::int64_t long_enough_ns = 25'000'000;

std::int64_t probe_ns_since(ProbeClock::time_point begun) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(ProbeClock::now() - begun).count();
}

// A word to the peer, and its word.
Outcome swap_words(Communicator& peers, int peer, std::byte own, std::byte& other) {
    const std::array<std::byte, 8> out{own};
    std::array<std::byte, 8> in{};
    const Outcome outcome = peers.exchange("link/word", peer, out, in);
    other = in[0];
    return outcome;
}

// The rank that comes first waits for the other's first word. Then each word of one follows from
// the one before of the other, so two words take one round trip, however far the ends are apart in
// time.
Outcome measure_round_trip(Communicator& peers, int peer, LinkSpeed& found) {
    std::byte ignored{};
    found.round_trip_ns = std::numeric_limits<std::int64_t>::max();
    for (int trip = 0; trip <= round_trips; ++trip) {
        const auto begun = ProbeClock::now();
        for (int word = 0; word < 2; ++word) {
            const Outcome outcome = swap_words(peers, peer, std::byte{0}, ignored);
            if (outcome != Outcome::ok) return outcome;
        }
        if (trip == 0) continue;
        found.round_trip_ns =
            std::min(found.round_trip_ns, std::max<std::int64_t>(probe_ns_since(begun), 1));
    }
    return Outcome::ok;
}

}  // namespace

bool is_of_link_probe(std::string_view operation) { return operation.starts_with("link/"); }

std::int32_t link_rounds(std::int32_t hosts) {
    if (hosts < 2) return 0;
    return hosts % 2 == 0 ? hosts - 1 : hosts;
}

// One stands still, and the others go round; of an odd number, who meets the missing one rests.
std::optional<std::int32_t> met_in_round(std::int32_t host, std::int32_t hosts,
                                         std::int32_t round) {
    const std::int32_t circle = link_rounds(hosts);
    INVARIANT(circle > 0 && host >= 0 && host < hosts && round >= 0 && round < circle);
    const bool even = hosts % 2 == 0;
    // Of those on the circle, a and b meet in round (a + b) mod circle.
    if (even && host == circle) {
        for (std::int32_t other = 0; other < circle; ++other) {
            if (2 * other % circle == round) return other;
        }
    }
    const std::int32_t other = (round - host + circle) % circle;
    if (other != host) return other;
    return even ? std::optional(circle) : std::nullopt;
}

// The lower rank says whether another, longer message follows.
Outcome measure_link(Communicator& peers, int peer, LinkSpeed& found) {
    const Outcome timed = measure_round_trip(peers, peer, found);
    if (timed != Outcome::ok) return timed;
    const bool leads = peers.membership().rank < peer;
    std::vector<std::byte> out;
    std::vector<std::byte> in;
    for (std::size_t bytes = bytes_first;; bytes *= 4) {
        out.resize(bytes);
        in.resize(bytes);
        const auto begun = ProbeClock::now();
        Outcome outcome = peers.exchange("link/bytes", peer, out, in);
        if (outcome != Outcome::ok) return outcome;
        const std::int64_t ns = probe_ns_since(begun);
        // A long message is asked for before it comes: one round trip is not its own.
        const std::int64_t on_the_way =
            std::max({ns - found.round_trip_ns, ns / 2, std::int64_t{1}});
        found.bytes_per_second = static_cast<double>(bytes) * 1e9 / static_cast<double>(on_the_way);
        const bool ends = ns >= long_enough_ns || bytes >= bytes_most;
        std::byte other{};
        outcome = swap_words(peers, peer, std::byte{ends}, other);
        if (outcome != Outcome::ok) return outcome;
        if ((leads ? std::byte{ends} : other) != std::byte{0}) return Outcome::ok;
    }
}

LinkProbe::LinkProbe(Communicator& peers, std::int64_t every_steps)
    : peers_(peers), every_steps_(every_steps) {
    const std::vector<std::int32_t> hosts = peers.hosts();
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
        const auto host = static_cast<std::size_t>(hosts[rank]);
        INVARIANT(host <= first_ranks_.size());  // numbered as they first come
        if (host == first_ranks_.size()) first_ranks_.push_back(static_cast<std::int32_t>(rank));
    }
    if (!hosts.empty()) host_ = hosts[static_cast<std::size_t>(peers.membership().rank)];
}

Outcome LinkProbe::before_step(std::int64_t step, std::optional<Met>& met) {
    met.reset();
    const auto hosts = static_cast<std::int32_t>(first_ranks_.size());
    const std::int64_t rounds = link_rounds(hosts);
    if (every_steps_ <= 0 || rounds == 0) return Outcome::ok;
    if (!first_step_) first_step_ = step;
    const std::int64_t round = (step - *first_step_) % std::max(every_steps_, rounds);
    if (round >= rounds) return Outcome::ok;
    const Outcome outcome = meet(static_cast<std::int32_t>(round), met);
    if (outcome != Outcome::ok) return outcome;
    const std::byte own{};
    std::vector<std::byte> all(static_cast<std::size_t>(peers_.membership().size));
    return peers_.all_gather("links_measured", std::span(&own, 1), all);
}

Outcome LinkProbe::meet(std::int32_t round, std::optional<Met>& met) {
    const auto hosts = static_cast<std::int32_t>(first_ranks_.size());
    if (first_ranks_[static_cast<std::size_t>(host_)] != peers_.membership().rank) {
        return Outcome::ok;
    }
    const auto other = met_in_round(host_, hosts, round);
    if (!other) return Outcome::ok;
    LinkSpeed speed;
    const Outcome outcome =
        measure_link(peers_, first_ranks_[static_cast<std::size_t>(*other)], speed);
    if (outcome == Outcome::ok && host_ < *other) met = Met{*other, speed};
    return outcome;
}

}  // namespace ukemi::kernels
