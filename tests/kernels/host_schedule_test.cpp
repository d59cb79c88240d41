// host_schedule_test.cpp — schedules of ranks on several hosts: right in any order of the ranks,
// and with little between the hosts.
#include "kernels/host_schedule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <vector>

#include "tests/support/schedule_fault.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::kernels;
using namespace ukemi::policies;

namespace {

constexpr std::array all_algorithms = {Collective::automatic,
                                       Collective::ring,
                                       Collective::star,
                                       Collective::binary_tree,
                                       Collective::clique,
                                       Collective::halving_doubling,
                                       Collective::hierarchical,
                                       Collective::binary_tree_star,
                                       Collective::multi_binary_tree_star,
                                       Collective::double_binary_tree};

std::int32_t host_of(std::span<const std::int32_t> hosts, std::int32_t rank) {
    return hosts[static_cast<std::size_t>(rank)];
}

// The most that a host sends to others, in buffers.
double most_sent_by_a_host(const Schedule& schedule, std::span<const std::int32_t> hosts) {
    std::map<std::int32_t, double> sent;
    for (const Transfer& transfer : schedule.transfers) {
        if (host_of(hosts, transfer.from) == host_of(hosts, transfer.to)) continue;
        sent[host_of(hosts, transfer.from)] += transfer.chunk_count;
    }
    double most = 0;
    for (const auto& [host, chunks] : sent) most = std::max(most, chunks / schedule.chunks);
    return most;
}

std::vector<std::int32_t> shuffled_hosts(std::int32_t hosts, std::int32_t per_host,
                                         std::mt19937& random) {
    std::vector<std::int32_t> table;
    for (std::int32_t i = 0; i < hosts * per_host; ++i) table.push_back(i % hosts);
    std::ranges::shuffle(table, random);
    return table;
}

}  // namespace

TEST_CASE("host schedule: every collective is an all-reduce, wherever its ranks stand",
          "[schedule][property]") {
    std::mt19937 random(7);
    for (int round = 0; round < 40; ++round) {
        const auto ranks = static_cast<std::int32_t>(2 + random() % 15);
        std::vector<std::int32_t> hosts;
        const unsigned hosts_most = 1 + static_cast<unsigned>(random() % 5);
        for (std::int32_t i = 0; i < ranks; ++i) {
            hosts.push_back(static_cast<std::int32_t>(random() % hosts_most));
        }
        for (const Collective algorithm : all_algorithms) {
            CAPTURE(round, static_cast<int>(algorithm), hosts);
            const Schedule schedule = schedule_on_hosts(algorithm, ranks, hosts);
            CHECK(schedule_fault(schedule, Operation::all_reduce) == "");
        }
    }
}

TEST_CASE("host schedule: full hosts send each other what a buffer in parts needs, and no more",
          "[schedule]") {
    std::mt19937 random(11);
    for (const std::int32_t count : {2, 3, 4, 8}) {
        for (const std::int32_t per_host : {2, 4}) {
            const auto hosts = shuffled_hosts(count, per_host, random);
            CAPTURE(hosts);
            const Schedule schedule =
                schedule_on_hosts(Collective::automatic, count * per_host, hosts);
            CHECK(schedule.name == "hierarchical");
            const double least = 2.0 * (count - 1) / count;
            CHECK(most_sent_by_a_host(schedule, hosts) == Approx(least));
            // As it would be by the ranks' numbers alone, which are in the order of the hosts here.
            auto ordered = hosts;
            std::ranges::sort(ordered);
            const Schedule flat = all_reduce_schedule(Collective::automatic, count * per_host);
            CHECK(most_sent_by_a_host(flat, ordered) > 1.2 * least);
        }
    }
}

TEST_CASE("host schedule: uneven hosts are a ring with one way in and one way out of each",
          "[schedule]") {
    const std::vector<std::int32_t> hosts{2, 0, 1, 0, 2, 0};
    const Schedule schedule = schedule_on_hosts(Collective::automatic, 6, hosts);
    CHECK(schedule.name == "ring");
    CHECK(most_sent_by_a_host(schedule, hosts) == Approx(2.0 * 5 / 6));
    CHECK(most_sent_by_a_host(all_reduce_schedule(Collective::ring, 6), hosts) > 2.0 * 5 / 6);
}

TEST_CASE("host schedule: on one host, or with a rank on each, it is what it is without hosts",
          "[schedule]") {
    for (const std::int32_t ranks : {1, 2, 5, 8}) {
        const Schedule plain = all_reduce_schedule(Collective::automatic, ranks);
        std::vector<std::int32_t> own(static_cast<std::size_t>(ranks));
        CHECK(schedule_on_hosts(Collective::automatic, ranks, {}).transfers == plain.transfers);
        CHECK(schedule_on_hosts(Collective::automatic, ranks, own).transfers == plain.transfers);
        for (std::int32_t i = 0; i < ranks; ++i) own[static_cast<std::size_t>(i)] = i;
        CHECK(schedule_on_hosts(Collective::automatic, ranks, own).transfers == plain.transfers);
    }
}
