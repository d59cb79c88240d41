// fair_share_test.cpp — rates after any sequence of changes are those of filling anew.
#include "sim/network/fair_share.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "base/rng.hpp"
#include "tests/sim/network/filling_anew.hpp"

using namespace ukemi;
using namespace ukemi::sim;

namespace {

struct Model {  // what there is, kept apart from the solver
    std::vector<double> capacities;
    std::map<FairShare::Slot, FilledFlow> flows;
};

void check_rates(FairShare& shares, const Model& model) {
    shares.solve();
    CHECK(shares.fault() == "");
    std::vector<FilledFlow> flows;
    for (const auto& [slot, flow] : model.flows) flows.push_back(flow);
    const std::vector<long double> rates = filled_anew(model.capacities, flows);
    std::size_t i = 0;
    for (const auto& [slot, flow] : model.flows) {
        CAPTURE(slot);
        const auto expected = static_cast<double>(rates[i++]);
        CHECK(shares.rate(slot) == Approx(expected).epsilon(1e-9).margin(1e-9));
    }
}

std::vector<Hop> random_hops(RandomStream& random, std::size_t links, bool coupled) {
    std::set<std::int64_t> chosen;
    const std::int64_t count = random.integer(1, random.chance(0.1) ? 12 : 4);
    for (std::int64_t i = 0; i < count; ++i) {
        chosen.insert(random.integer(0, static_cast<std::int64_t>(links) - 1));
    }
    std::vector<Hop> hops;
    for (const std::int64_t link : chosen) {
        const std::int64_t most = 5 * Hop::whole;
        const std::int64_t parts = coupled ? random.integer(1, most) : Hop::whole;
        hops.push_back({static_cast<LinkId>(link), static_cast<std::uint32_t>(parts)});
    }
    return hops;
}

}  // namespace

TEST_CASE("fair share: flows share the links that they cross", "[network]") {
    // Bertsekas and Gallager's chain: one flow over both links, two on the first, one on the other.
    FairShare shares;
    const LinkId narrow = shares.add_link(9);
    const LinkId wide = shares.add_link(12);
    const std::vector<Hop> both = {{narrow}, {wide}};
    const RouteId over_both = shares.add_route(both);
    const RouteId first = shares.add_route(std::vector{Hop{narrow}});
    const RouteId second = shares.add_route(std::vector{Hop{wide}});
    shares.add(0, over_both);
    shares.add(1, first);
    shares.add(2, first);
    shares.add(3, second);
    CHECK(shares.solve().size() == 4);
    CHECK(shares.rate(0) == 3);
    CHECK(shares.rate(1) == 3);
    CHECK(shares.rate(3) == 9);
    CHECK(shares.fault() == "");

    shares.remove(1);
    CHECK(shares.solve().size() == 3);
    CHECK(shares.rate(0) == 4.5);
    CHECK(shares.rate(3) == 7.5);
    shares.set_capacity(wide, 0);
    shares.solve();
    CHECK(shares.rate(0) == 0);
    CHECK(shares.rate(2) == 9);
    CHECK(shares.rate(3) == 0);
    shares.set_capacity(wide, 12);
    shares.solve();
    CHECK(shares.rate(0) == 4.5);
    CHECK(shares.fault() == "");
}

TEST_CASE("fair share: a coupled flow counts once for each of its edges", "[network]") {
    FairShare shares;
    const LinkId link = shares.add_link(12);
    shares.add(0, shares.add_route(std::vector<Hop>{{link, 3 * Hop::whole}}));
    shares.add(1, shares.add_route(std::vector{Hop{link}}));
    shares.solve();
    CHECK(shares.rate(0) == 3);
    CHECK(shares.rate(1) == 3);
    shares.remove(1);
    shares.solve();
    CHECK(shares.rate(0) == 4);
}

TEST_CASE("fair share: rates that a change does not reach are not told again", "[network]") {
    FairShare shares;
    std::vector<RouteId> routes;
    for (int i = 0; i < 10; ++i) {
        const LinkId link = shares.add_link(100);
        routes.push_back(shares.add_route(std::vector{Hop{link}}));
        shares.add(static_cast<FairShare::Slot>(i), routes.back());
    }
    CHECK(shares.solve().size() == 10);
    shares.add(10, routes[4]);
    const auto changed = shares.solve();
    CHECK(std::set<FairShare::Slot>(changed.begin(), changed.end()) ==
          std::set<FairShare::Slot>{4, 10});
    CHECK(shares.solve().empty());
}

TEST_CASE("fair share: a flow that is alone on a disturbed link follows the link later on",
          "[network]") {
    FairShare shares;
    const LinkId link = shares.add_link(1000);
    const RouteId route = shares.add_route(std::vector{Hop{link}});
    shares.add(0, route);
    shares.add(1, route);
    shares.solve();
    // Together: those two go, one comes, which disturbs the link that it has to itself.
    shares.remove(0);
    shares.remove(1);
    shares.set_capacity(link, 500);
    shares.add(2, route);
    shares.solve();
    CHECK(shares.rate(2) == 500);
    CHECK(shares.fault() == "");
    shares.set_capacity(link, 2000);
    shares.solve();
    CHECK(shares.rate(2) == 2000);
    CHECK(shares.fault() == "");
}

TEST_CASE("fair share: any sequence of changes leads to the rates of filling anew",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/fair_share");
        FairShare shares;
        Model model;
        std::map<FairShare::Slot, std::vector<Hop>> alone;  // of one strand
        const bool many = random.chance(0.1);               // of which the solver makes a heap
        const auto links =
            static_cast<std::size_t>(many ? random.integer(80, 150) : random.integer(2, 25));
        const bool few_values = random.chance(0.5);  // many ties
        const auto capacity = [&] {
            if (random.chance(0.03)) return 0.0;
            return few_values ? static_cast<double>(random.integer(1, 3)) * 12
                              : 1 + 100 * random.uniform();
        };
        for (std::size_t i = 0; i < links; ++i) {
            model.capacities.push_back(capacity());
            shares.add_link(model.capacities.back());
        }
        const bool coupled = random.chance(0.3);
        for (int step = 0; step < 120; ++step) {
            CAPTURE(step);
            const std::int64_t changes = random.integer(1, 4);
            for (std::int64_t i = 0; i < changes; ++i) {
                const auto slot = static_cast<FairShare::Slot>(random.integer(0, many ? 200 : 30));
                if (random.chance(0.1)) {
                    const auto link = static_cast<std::size_t>(
                        random.integer(0, static_cast<std::int64_t>(links) - 1));
                    model.capacities[link] = capacity();
                    shares.set_capacity(static_cast<LinkId>(link), model.capacities[link]);
                } else if (model.flows.contains(slot) && random.chance(0.4)) {
                    const bool uncapped = random.chance(0.3);
                    model.flows[slot].cap = uncapped ? FairShare::unlimited : capacity() / 4;
                    shares.set_cap(slot, model.flows[slot].cap);
                } else if (model.flows.contains(slot) && random.chance(0.2)) {
                    const auto strands = static_cast<std::uint32_t>(random.integer(1, 4));
                    std::vector<Hop> hops = alone[slot];
                    for (Hop& hop : hops) hop.parts *= strands;
                    model.flows[slot].hops = hops;
                    shares.set_strands(slot, strands);
                } else if (model.flows.erase(slot) == 1) {
                    shares.remove(slot);
                } else {
                    model.flows[slot] = {random_hops(random, links, coupled)};
                    alone[slot] = model.flows[slot].hops;
                    shares.add(slot, shares.add_route(alone[slot]));
                }
            }
            check_rates(shares, model);
        }
    }
}
