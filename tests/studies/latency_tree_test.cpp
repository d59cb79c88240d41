// latency_tree_test.cpp — the tree of the shortest links, against every tree there is.
#include "studies/latency_tree/latency_tree.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::studies;

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
