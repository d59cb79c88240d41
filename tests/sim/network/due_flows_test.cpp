// due_flows_test.cpp — flows come out by tick, then in the order in which they came.
#include "sim/network/due_flows.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::sim;

namespace {

std::vector<DueFlows::Slot> all_due_next(DueFlows& due) {
    std::vector<DueFlows::Slot> all;
    const DueFlows::Tick at = due.next();
    while (!due.empty() && due.next() == at) {
        const auto some = due.take();
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

}  // namespace

TEST_CASE("due flows: those of one tick come in their order", "[network]") {
    DueFlows due;
    for (const DueFlows::Slot slot : {5U, 3U, 9U}) due.put(slot, 100);
    due.put(1, 50);
    due.erase(3);
    CHECK(due.next() == 50);
    CHECK(all_due_next(due) == std::vector<DueFlows::Slot>{1});
    CHECK(all_due_next(due) == std::vector<DueFlows::Slot>{5, 9});
    CHECK(due.empty());
    CHECK_FALSE(due.contains(5));
}

TEST_CASE("due flows: any mixture of insertions and removals comes out by tick",
          "[network][property]") {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        RandomStream random(seed, "test/due_flows");
        DueFlows due;
        std::map<DueFlows::Slot, DueFlows::Tick> model;
        DueFlows::Tick now = 0;
        for (int step = 0; step < 2000; ++step) {
            const auto slot = static_cast<DueFlows::Slot>(random.integer(0, 400));
            REQUIRE(due.contains(slot) == model.contains(slot));
            if (random.chance(0.3)) {
                due.erase(slot);  // due or not
                model.erase(slot);
                if (model.empty()) continue;
            }
            const DueFlows::Tick at = now + random.integer(0, random.chance(0.5) ? 5 : 100'000);
            due.put(slot, at);
            model[slot] = at;
            if (!random.chance(0.1)) continue;
            std::vector<DueFlows::Slot> expected;
            DueFlows::Tick first = model.begin()->second;
            for (const auto& [s, t] : model) first = std::min(first, t);
            for (const auto& [s, t] : model) {
                if (t == first) expected.push_back(s);
            }
            REQUIRE(due.next() == first);
            std::vector<DueFlows::Slot> taken = all_due_next(due);
            std::sort(taken.begin(), taken.end());
            REQUIRE(taken == expected);
            for (const DueFlows::Slot s : taken) model.erase(s);
            now = first;
        }
    }
}
