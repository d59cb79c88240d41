// host_links_test.cpp — sums over hosts that are unequally far from each other, against closed
// forms and by hand.
#include "policies/host_links.hpp"

#include <catch2/catch.hpp>

#include "policies/job_profile.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

constexpr double gigabyte = 1e9;  // a second

// All pairs of so many hosts, one way 5 ms for no bytes.
HostLinks all_alike(std::int32_t hosts, Bytes message) {
    HostLinks links;
    links.message = message;
    for (std::int32_t host = 0; host < hosts; ++host) {
        for (std::int32_t other = host + 1; other < hosts; ++other) {
            links.links.push_back({host, other, milliseconds(10), gigabyte});
        }
    }
    return links;
}

LinkView& link_of(HostLinks& links, std::int32_t host, std::int32_t other) {
    return *std::ranges::find_if(
        links.links, [&](const LinkView& one) { return one.host == host && one.other == other; });
}

}  // namespace

TEST_CASE("links between hosts: an even ring takes its textbook time", "[host_links]") {
    const std::int32_t hosts = GENERATE(2, 3, 5, 8, 64);
    const Bytes message = Bytes::of(std::int64_t{hosts} * 7'000'000);
    const HostLinks links = all_alike(hosts, message);
    // 2 (n - 1) (latency + message ÷ n ÷ rate)
    CHECK(ring_over_hosts(links, hosts) == (2 * (hosts - 1)) * milliseconds(5 + 7));
    CHECK(ring_over_hosts(links, 1) == Duration{});
    CHECK(links.between(hosts).size() == links.links.size());
    CHECK(links.between(2).size() == 1);
}

TEST_CASE("links between hosts: a ring is as slow as its slowest way, all rounds long",
          "[host_links]") {
    HostLinks links = all_alike(6, Bytes::of(6'000'000));
    link_of(links, 2, 3).round_trip = milliseconds(200);
    CHECK(ring_over_hosts(links, 6) == 10 * milliseconds(100 + 1));
    link_of(links, 0, 5).round_trip = milliseconds(200);  // twice around is no slower
    CHECK(ring_over_hosts(links, 6) == 10 * milliseconds(100 + 1));
    link_of(links, 0, 3).round_trip = milliseconds(900);  // not of the ring
    CHECK(ring_over_hosts(links, 6) == 10 * milliseconds(100 + 1));
}

TEST_CASE("links between hosts: a tree takes its longest way, up and down", "[host_links]") {
    HostLinks links = all_alike(4, Bytes::of(3'000'000));  // 8 ms for all of it
    link_of(links, 1, 3).round_trip = milliseconds(60);    // 33
    CHECK(tree_over_hosts(links, {0, 0, 0, 0}) == milliseconds(16));
    CHECK(tree_over_hosts(links, {0, 0, 1, 2}) == milliseconds(48));
    CHECK(tree_over_hosts(links, {0, 0, 0, 1}) == milliseconds(82));
    CHECK(least_over_hosts(links, 4) == milliseconds(16));
    // No tree leaves host 3 out, whatever its way there.
    for (const std::int32_t host : {0, 2}) link_of(links, host, 3).round_trip = milliseconds(30);
    CHECK(least_over_hosts(links, 4) == milliseconds(36));
    CHECK(least_over_hosts(links, 3) == milliseconds(16));
    CHECK(least_over_hosts(links, 1) == Duration{});
}

TEST_CASE("links between hosts: workers fill hosts in order", "[host_links]") {
    HostLinks links = all_alike(3, Bytes::of(1'000'000));
    links.workers_per_host = 2;
    CHECK(links.hosts_of(2) == 1);
    CHECK(links.hosts_of(3) == 2);
    CHECK(links.hosts_of(6) == 3);
    CHECK(links.hosts_of(600) == 3);  // of which something is known
    Plan plan;
    plan.tree = {0, 0, 1};
    CHECK(goes_by_tree(links, plan, 5));
    CHECK_FALSE(goes_by_tree(links, plan, 4));  // a tree of other hosts
    CHECK_FALSE(goes_by_tree(HostLinks{}, Plan{}, 1));
}

TEST_CASE("links between hosts: a tree stands in the place of a step's ring", "[host_links]") {
    JobProfile profile;
    profile.throughput = {{1, {1, milliseconds(300)}}, {4, {1, milliseconds(400)}}};
    profile.links = all_alike(4, Bytes::of(4'000'000));
    Plan plan;
    const auto step = [&](std::int32_t workers) {
        return time_for(rate_of(profile, plan, workers), 1);
    };
    CHECK(step(4) == milliseconds(400));  // as measured
    CHECK(exposed_communication(profile, plan, 4) == 6 * milliseconds(6));
    plan.tree = {0, 0, 0, 0};
    CHECK(step(4) == milliseconds(400 - 36 + 2 * 9));
    CHECK(exposed_communication(profile, plan, 4) == milliseconds(18));
    CHECK(step(1) == milliseconds(300));
    plan.tree = {0, 0};  // of a group that is no more
    CHECK(step(4) == milliseconds(400));
    // Where the ways are said to take longer than a whole step, nothing was computed.
    profile.links.message = Bytes::of(4'000'000'000);
    CHECK(step(4) == milliseconds(400));
    plan.tree = {0, 0, 0, 0};
    CHECK(step(4) == milliseconds(2 * 4005) + nanoseconds(1));
}
