// launch_test.cpp — when each launch rule lets buckets go.
#include "sim/step/launch.hpp"

#include <catch2/catch.hpp>

namespace ukemi {

namespace {

const std::vector<sim::GradientBucket> three = {
    {"c", mebibytes(1), 0.3}, {"b", mebibytes(2), 0.6}, {"a", mebibytes(3), 1.0}};

Instant at_us(std::int64_t microseconds) { return Instant::at(nanoseconds(1000 * microseconds)); }

// Four workers, 5 us apart, a byte of 1 ns.
const sim::LaunchPeers four = {4, nanoseconds(5000), 1e-9};

sim::BucketLauncher launcher_of(const sim::LaunchRule& rule) {
    sim::BucketLauncher launcher(rule, four);
    launcher.begin_step(three);
    return launcher;
}

}  // namespace

TEST_CASE("launch: in order, one at a time", "[launch]") {
    sim::BucketLauncher launcher = launcher_of({sim::LaunchKind::in_order});
    CHECK(launcher.take().empty());
    launcher.bucket_ready(0, at_us(10));
    CHECK(launcher.take().size() == 1);
    launcher.bucket_ready(1, at_us(20));
    launcher.bucket_ready(2, at_us(30));
    CHECK(launcher.take().empty());
    launcher.message_sent();
    const auto next = launcher.take();
    REQUIRE(next.size() == 1);
    CHECK(next[0].buckets == std::vector<std::uint32_t>{1});
    CHECK_FALSE(launcher.due_at());
}

TEST_CASE("launch: by name, all that is ready", "[launch]") {
    sim::BucketLauncher launcher = launcher_of({sim::LaunchKind::by_name});
    launcher.bucket_ready(0, at_us(10));
    CHECK(launcher.take().size() == 1);
    launcher.bucket_ready(1, at_us(20));
    launcher.bucket_ready(2, at_us(20));
    CHECK(launcher.take().size() == 2);
}

TEST_CASE("launch: coordinated, at the beat of the cycle, agreed, and fused", "[launch]") {
    sim::LaunchRule rule{sim::LaunchKind::coordinated};
    rule.fusion = mebibytes(4);
    sim::BucketLauncher launcher = launcher_of(rule);
    // 5 us of latency, 3 messages of 10 us at rank 0, two levels of 15 us back; of two tensors: 3 x
    // 2 requests at rank 0, and five times, one after the other, 288 bytes.
    const Duration none = nanoseconds(5000 + 30'000 + 30'000);
    const Duration first = none + nanoseconds(6 * 200 + 5 * 288);
    CHECK(sim::negotiation_time(rule, four, 0, false) == none);
    CHECK(sim::negotiation_time(rule, four, 2, false) == first);
    CHECK(sim::negotiation_time(rule, four, 2, true) == nanoseconds(4 * 15'000));
    CHECK(sim::negotiation_time(rule, {1, nanoseconds(5000), 1e-9}, 2, false) == Duration{});
    // Twice the tensors at twice the others: four times the requests.
    const auto requests = [&](std::size_t workers, std::int64_t tensors) {
        sim::LaunchPeers peers = four;
        peers.workers = workers;
        peers.s_per_byte = 0;
        return sim::negotiation_time(rule, peers, tensors, false) -
               sim::negotiation_time(rule, peers, 0, false);
    };
    CHECK(requests(7, 322) == 4 * requests(4, 161));

    launcher.bucket_ready(0, at_us(1200));
    launcher.bucket_ready(1, at_us(1900));
    REQUIRE(launcher.due_at() == at_us(2000));
    launcher.due(at_us(2000));
    launcher.bucket_ready(2, at_us(2010));  // too late for this cycle
    CHECK(launcher.take().empty());
    REQUIRE(launcher.due_at() == at_us(2000) + first);
    launcher.due(at_us(2000) + first);
    const auto both = launcher.take();
    REQUIRE(both.size() == 1);
    CHECK(both[0].buckets == std::vector<std::uint32_t>{0, 1});
    CHECK(both[0].bytes == mebibytes(3));
    REQUIRE(launcher.due_at() == at_us(3000));
    launcher.due(at_us(3000));
    launcher.due(*launcher.due_at());
    CHECK(launcher.take().empty());  // one at a time
    launcher.message_sent();
    CHECK(launcher.take().size() == 1);
}

TEST_CASE("launch: what does not fit into one fusion buffer goes in the next", "[launch]") {
    sim::LaunchRule rule{sim::LaunchKind::coordinated};
    rule.fusion = mebibytes(3);
    sim::BucketLauncher launcher = launcher_of(rule);
    for (const std::uint32_t bucket : {0U, 1U, 2U}) launcher.bucket_ready(bucket, at_us(10));
    launcher.due(*launcher.due_at());
    launcher.due(*launcher.due_at());
    const auto first = launcher.take();
    REQUIRE(first.size() == 1);
    CHECK(first[0].bytes == mebibytes(3));
    launcher.message_sent();
    const auto second = launcher.take();
    REQUIRE(second.size() == 1);
    CHECK(second[0].buckets == std::vector<std::uint32_t>{2});
}

}  // namespace ukemi
