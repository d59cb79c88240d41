// flow_network_test.cpp — flows in time: latency, sharing, links that change, and bad input.
#include "sim/network/flow_network.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <map>

#include "base/input_error.hpp"
#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::sim;

namespace {

constexpr double byte_per_nanosecond = 1e9;  // one byte a nanosecond

LinkRate link_of(double bandwidth, std::int64_t latency_ns) {
    return {BytesPerSecond::of(bandwidth), nanoseconds(latency_ns)};
}

// Plays everything; when each tag was told of, in nanoseconds.
std::map<std::uint64_t, std::int64_t> played(FlowNetwork& network,
                                             Instant limit = Instant::never()) {
    std::map<std::uint64_t, std::int64_t> ends;
    while (network.step(limit)) {
        for (const FlowNetwork::Happening& happening : network.happenings()) {
            if (happening.kind == FlowNetwork::Kind::flow_finished) {
                ends[happening.tag] = network.now().raw();
            }
        }
    }
    return ends;
}

}  // namespace

TEST_CASE("flow network: a flow takes the latencies of its links and its bytes", "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(2 * byte_per_nanosecond, 300)),
                               network.add_link(link_of(byte_per_nanosecond, 200))};
    network.start(network.add_route(links), 1000, 7);
    CHECK(network.next_at() == Instant::at(nanoseconds(500)));
    CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{7, 1500}});
    CHECK(network.flow_count() == 0);
    CHECK(network.next_at() == Instant::never());
}

TEST_CASE("flow network: dependent flows start at the exact finish", "[network]") {
    // Three bytes at seven a nanosecond, a thousand times over: rounding each would give 0 ns.
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(7 * byte_per_nanosecond, 0))};
    const RouteId route = network.add_route(links);
    network.start(route, 3, 0);
    int finished = 0;
    while (network.step(Instant::never())) {
        if (++finished < 1000) network.start(route, 3, 0);
    }
    CHECK(finished == 1000);
    CHECK(network.now().raw() == 429);  // 3000/7 = 428.57
}

TEST_CASE("flow network: a flow alone on a link that was disturbed at its start follows the link",
          "[network]") {
    {
        FlowNetwork network;
        const LinkId link = network.add_link(link_of(byte_per_nanosecond, 0));
        const RouteId route = network.add_route(std::vector{link});
        network.start(route, 500, 0);
        network.start(route, 500, 1);
        network.plan_bandwidth(Instant::at(nanoseconds(2000)), link, BytesPerSecond::of(2e9));
        REQUIRE(network.step(Instant::never()));  // both end at 1000 ns, and another starts
        CHECK(network.happenings().size() == 2);
        network.start(route, 3000, 2);
        CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{2, 3000}});
    }
    FlowNetwork network;
    const LinkId link = network.add_link(link_of(byte_per_nanosecond, 0));
    network.start(network.add_route(std::vector{link}), 3000, 0);
    network.set_bandwidth(link, BytesPerSecond::of(0.5e9));  // at once
    network.plan_bandwidth(Instant::at(nanoseconds(1000)), link, BytesPerSecond::of(1e9));
    CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{0, 3500}});
}

TEST_CASE("flow network: cross traffic takes its share for as long as it is there", "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(byte_per_nanosecond, 0))};
    const RouteId route = network.add_route(links);
    const FlowNetwork::FlowId cross = network.start(route, FlowNetwork::endless, 0);
    network.start(route, 1000, 1);
    CHECK_FALSE(network.step(Instant::at(nanoseconds(600))));  // 300 bytes have moved
    CHECK(network.now() == Instant::at(nanoseconds(600)));
    CHECK(network.rate(cross) == 0.5e9);
    network.cancel(cross);
    CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{1, 1300}});
    network.cancel(cross);  // a second time: nothing
    CHECK(network.flow_count() == 0);
}

TEST_CASE("flow network: cross traffic of its own rate takes that, or its share if less",
          "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(byte_per_nanosecond, 10))};
    const RouteId route = network.add_route(links);
    network.start(route, FlowNetwork::endless, 0, {0, false, 0.2e9});
    network.start(route, 1000, 1);
    network.start(route, FlowNetwork::endless, 0, {0, false, 0.7e9});
    CHECK(played(network, Instant::at(nanoseconds(5000))) ==
          std::map<std::uint64_t, std::int64_t>{{1, 2510}});  // 0.2 and twice 0.4
    CHECK(network.fault() == "");
}

TEST_CASE("flow network: a flow with a delay per byte pauses with each of them", "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(byte_per_nanosecond, 0))};
    const RouteId route = network.add_route(links);
    network.start(route, 1000, 1, {2e-9, false});  // 1 ns to move a byte, 2 ns of pause
    network.plan_bandwidth(Instant::at(nanoseconds(1500)), links[0], BytesPerSecond::of(0.5e9));
    CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{1, 1500 + 500 * 4}});
}

TEST_CASE("flow network: a link that fails holds its flows until it is back", "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(byte_per_nanosecond, 0))};
    network.start(network.add_route(links), 1000, 1);
    network.plan_bandwidth(Instant::at(nanoseconds(400)), links[0], BytesPerSecond::of(0));
    SECTION("for ever") {
        CHECK(played(network).empty());
        CHECK(network.flow_count() == 1);
        CHECK(network.next_at() == Instant::never());
    }
    SECTION("for a while") {
        network.plan_bandwidth(Instant::at(nanoseconds(1000)), links[0], BytesPerSecond::of(0.5e9));
        CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{1, 2200}});
    }
    SECTION("for a year") {
        network.plan_bandwidth(Instant::at(days(365)), links[0], BytesPerSecond::of(1e9));
        CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{1, days(365).raw() + 600}});
    }
}

TEST_CASE("flow network: flows of days and clocks of years keep their nanoseconds", "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(1000, 1000)),
                               network.add_link(link_of(1000, 1000))};
    const RouteId slow = network.add_route(std::vector{links[0]});
    const RouteId other = network.add_route(std::vector{links[1]});
    CHECK_FALSE(network.step(Instant::at(days(400))));
    network.start(slow, 1000.0 * 86'400 * 3, 1);
    std::int64_t at = days(400).raw();
    for (std::uint64_t tag = 2; tag < 8; ++tag) {  // seven hours each, one after the other
        network.start(other, 1000.0 * 3600 * 7, tag);
        bool finished = false;
        while (!finished && network.step(Instant::never())) {
            finished = !network.happenings().empty();
        }
        at += hours(7).raw() + 1000;
        CHECK(network.now().raw() == at);
    }
    CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{1, days(403).raw() + 1000}});
}

TEST_CASE("flow network: nothing to send is over after the latency", "[network]") {
    FlowNetwork network;
    const std::vector links = {network.add_link(link_of(1e9, 50)),
                               network.add_link(link_of(1e9, 0))};
    network.start(network.add_route(std::vector{links[0]}), 0, 1);
    network.start(network.add_route(std::vector{links[1]}), 0, 2);
    CHECK(played(network) == std::map<std::uint64_t, std::int64_t>{{1, 50}, {2, 0}});
}

TEST_CASE("flow network: steps do not pass a limit, whatever the limits are",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        const auto run = [&](bool in_slices) {
            RandomStream random(seed, "test/flow_network");
            FlowNetwork network;
            std::vector<LinkId> links;
            for (int i = 0; i < 8; ++i) {
                links.push_back(network.add_link(link_of(
                    1e9 * static_cast<double>(random.integer(1, 3)), random.integer(0, 99))));
            }
            for (std::uint64_t tag = 0; tag < 40; ++tag) {
                const auto first = static_cast<std::size_t>(random.integer(0, 6));
                const RouteId route =
                    network.add_route(std::vector{links[first], links[first + 1]});
                network.start(route, static_cast<double>(random.integer(0, 3000)), tag);
            }
            network.plan_bandwidth(Instant::at(nanoseconds(900)), links[3],
                                   BytesPerSecond::of(3e8));
            std::map<std::uint64_t, std::int64_t> ends;
            for (std::int64_t limit = 1; in_slices && limit < 20'000; limit += limit % 7 + 1) {
                ends.merge(played(network, Instant::at(nanoseconds(limit))));
                REQUIRE(network.now() == Instant::at(nanoseconds(limit)));
                REQUIRE(network.fault() == "");
            }
            ends.merge(played(network));
            return ends;
        };
        const auto at_once = run(false);
        CHECK(at_once.size() == 40);
        const auto in_slices = run(true);
        REQUIRE(in_slices.size() == 40);
        for (const auto& [tag, end] : at_once) {
            CHECK(std::abs(in_slices.at(tag) - end) <= 1);
        }
    }
}

TEST_CASE("flow network: bad input is refused with what was found", "[network]") {
    FlowNetwork network;
    CHECK_THROWS_WITH(network.add_link(link_of(0, 0)),
                      "network: link 0: expected a bandwidth above zero, found 0 B/s");
    CHECK_THROWS_AS(network.add_link(link_of(std::numeric_limits<double>::quiet_NaN(), 0)),
                    InputError);
    CHECK_THROWS_WITH(network.add_link(link_of(1, -1)),
                      "network: link 0: expected a latency from 0 s to 1 h");
    const LinkId link = network.add_link(link_of(1, 0));
    CHECK_THROWS_WITH(network.add_route(std::vector<LinkId>()),
                      "network: a route without links is no path");
    const LinkId other = network.add_link(link_of(1, 0));
    CHECK_THROWS_WITH(network.add_route(std::vector{link, other, link}),
                      "network: a route crosses link 0 twice");
    CHECK_THROWS_WITH(network.add_route(std::vector{static_cast<LinkId>(4)}),
                      "network: there is no link 4; there are 2");
    CHECK_THROWS_WITH(network.set_bandwidth(link, BytesPerSecond::of(-1)),
                      "network: link 0: expected a bandwidth of zero or more, found -1 B/s");
    CHECK_THROWS_AS(network.set_bandwidth(static_cast<LinkId>(2), BytesPerSecond::of(1)),
                    InputError);
}
