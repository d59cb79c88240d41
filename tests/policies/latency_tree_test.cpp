// latency_tree_test.cpp — the tree of the shortest links, against every tree there is.
#include "policies/exchange/latency_tree_rule.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "base/rng.hpp"
#include "tests/policies/situation.hpp"

using namespace ukemi;
using namespace ukemi::policies;

namespace {

std::vector<Duration> matrix(std::initializer_list<std::int64_t> milliseconds_each) {
    std::vector<Duration> list;
    for (const std::int64_t value : milliseconds_each) list.push_back(milliseconds(value));
    return list;
}

// The length of a tree given by parents, both ways; nothing if it has a circle.
std::optional<Duration> length_of(const std::vector<std::size_t>& parent,
                                  const std::vector<Duration>& latencies) {
    const std::size_t peers = parent.size();
    Duration sum;
    for (std::size_t peer = 1; peer < peers; ++peer) {
        std::size_t at = peer;
        for (std::size_t hops = 0; at != 0; at = parent[at]) {
            if (++hops > peers) return std::nullopt;
        }
        sum += latencies[peer * peers + parent[peer]] + latencies[parent[peer] * peers + peer];
    }
    return sum;
}

}  // namespace

TEST_CASE("latency tree: follows the short links, both ways counted", "[latency_tree]") {
    CHECK(minimum_latency_tree(matrix({7}), 1) == std::vector<std::size_t>{0});
    // Two racks, {0, 1} and {2, 3}; the link 1–3 is the best between them on the mean.
    const auto racks = matrix({0, 1, 9, 9,  //
                               1, 0, 9, 2,  //
                               9, 9, 0, 1,  //
                               9, 8, 1, 0});
    CHECK(minimum_latency_tree(racks, 4) == std::vector<std::size_t>{0, 0, 3, 1});
    const auto equal = std::vector<Duration>(9, milliseconds(1));
    CHECK(minimum_latency_tree(equal, 3) == std::vector<std::size_t>{0, 0, 0});  // a star
}

TEST_CASE("latency tree: no tree of five peers is shorter", "[latency_tree][property]") {
    constexpr std::size_t peers = 5;
    RandomStream draw(static_cast<std::uint64_t>(GENERATE(range(0, 20))), "latencies");
    std::vector<Duration> latencies;
    for (std::size_t i = 0; i < peers * peers; ++i) {
        latencies.push_back(milliseconds(draw.integer(1, 12)));
    }
    const auto found = length_of(minimum_latency_tree(latencies, peers), latencies);
    REQUIRE(found);
    Duration least = Duration::max();
    for (std::size_t code = 0; code < 625; ++code) {  // all parents of peers 1 to 4
        std::vector<std::size_t> parent{0};
        for (std::size_t rest = code; parent.size() < peers; rest /= peers) {
            parent.push_back(rest % peers);
        }
        least = std::min(least, length_of(parent, latencies).value_or(Duration::max()));
    }
    CHECK(*found == least);
}

namespace {

// Four hosts on a line, 10 ms from each to the next; wider apart, as far as the way along it.
struct Line : Situation {
    Line() {
        for (std::int32_t host = 0; host < 4; ++host) {
            for (std::int32_t other = host + 1; other < 4; ++other) {
                seen.links.push_back({host, other, milliseconds(10 * (other - host)), 1e9});
            }
        }
    }
    LinkView& link(std::int32_t host, std::int32_t other) {
        return *std::ranges::find_if(seen.links, [&](const LinkView& one) {
            return one.host == host && one.other == other;
        });
    }
    Decision ask(Policy& policy) {
        const auto predictor = test::make_profile_predictor(profile);
        const Decision decision = policy.after_step({seen, plan, *predictor, nullptr, random});
        apply(decision, plan);
        return decision;
    }
};

}  // namespace

TEST_CASE("latency_tree: the Plan has the tree of the links that were measured", "[latency_tree]") {
    const auto policy = policy_named("latency_tree");
    CHECK(policy->looks_at_links());
    Line line;
    const Decision first = line.ask(*policy);
    CHECK(knobs_turned(first) == KnobSet{Knob::collective});
    CHECK(line.plan.tree == std::vector<std::int32_t>{0, 0, 1, 2});
    CHECK(line.ask(*policy) == Decision{});  // it has it
    line.link(1, 2).round_trip = milliseconds(300);
    line.ask(*policy);
    CHECK(line.plan.tree == std::vector<std::int32_t>{0, 0, 0, 2});
    line.link(0, 2).round_trip = milliseconds(21);  // a little slower than 1–3 is: not worth it
    CHECK(line.ask(*policy) == Decision{});
}

TEST_CASE("latency_tree: what is not measured changes nothing", "[latency_tree]") {
    const auto policy = policy_named("latency_tree");
    Line line;
    line.seen.links.clear();
    line.plan.tree = {0, 0};
    CHECK(line.ask(*policy) == Decision{});
    line.seen.links = {{0, 1, milliseconds(3), 1e9}};  // a group of two hosts has one tree
    line.plan.tree.clear();
    line.ask(*policy);
    CHECK(line.plan.tree == std::vector<std::int32_t>{0, 0});
}

TEST_CASE("latency_tree: links that are not of each two hosts change nothing", "[latency_tree]") {
    const auto policy = policy_named("latency_tree", R"({"message": "1 GB"})");
    Line line;
    const auto says_nothing = [&](std::vector<LinkView> links) {
        line.seen.links = std::move(links);
        line.plan.tree.clear();
        return line.ask(*policy) == Decision{};
    };
    CHECK(says_nothing({{0, 2'000'000'000, milliseconds(1), 1e9}}));
    CHECK(says_nothing({{0, 2'147'483'647, milliseconds(1), 1e9}}));
    CHECK(says_nothing({{0, 9, milliseconds(1), 1e9}}));
    CHECK(says_nothing({{1, 1, milliseconds(1), 1e9}}));
    CHECK(says_nothing({{0, 1, milliseconds(1), 1e9},
                        {0, 1, milliseconds(1), 1e9},
                        {1, 2, milliseconds(1), 1e9}}));
    line.seen.links = {{0, 1, milliseconds(1), 1e-300}};  // slow is slow
    line.ask(*policy);
    CHECK(line.plan.tree == std::vector<std::int32_t>{0, 0});
}

TEST_CASE("latency_tree: with a message, narrow links count by what they carry", "[latency_tree]") {
    const auto policy = policy_named("latency_tree", R"({"message": "1 MB"})");
    Line line;
    line.link(0, 1).bytes_per_second = 1e6;  // a second more
    line.ask(*policy);
    CHECK(line.plan.tree == std::vector<std::int32_t>{0, 2, 0, 2});
}
