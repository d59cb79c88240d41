// straggler_rule_test.cpp — who is slow, who is not, and who is not any more. What replacing them
// gains: tests/cli/published_adaptation_test.cpp.
#include "policies/size/straggler_rule.hpp"

#include <catch2/catch.hpp>
#include <initializer_list>

using namespace ukemi;
using namespace ukemi::policies;

namespace {

std::vector<WorkerView> computing(std::initializer_list<double> images_per_second) {
    std::vector<WorkerView> views;
    for (const double rate : images_per_second) {
        const InstanceId id{static_cast<std::uint32_t>(views.size())};
        views.push_back({id, seconds(1), seconds(100 / rate), {}, {}});
    }
    return views;
}

}  // namespace

TEST_CASE("straggler rule: a share of the median below 0.8 makes one", "[straggler][golden]") {
    // 434, 608 and 592 img/s on workers 1, 2 and 3 of the engine's log; the master is worker 0.
    StragglerDetector detector;
    detector.see(computing({600, 434, 608, 592}));
    CHECK(detector.stragglers(InstanceId{0}) == std::vector{InstanceId{1}});
    CHECK(detector.stragglers(InstanceId{1}).empty());  // never the master
}

TEST_CASE("straggler rule: one bad step is not enough, and one good step does not help",
          "[straggler]") {
    StragglerDetector detector;
    detector.see(computing({100, 100, 100, 100}));
    detector.see(computing({100, 100, 20, 100}));
    CHECK(detector.stragglers(InstanceId{0}).empty());  // 0.92
    detector.see(computing({100, 100, 20, 100}));
    detector.see(computing({100, 100, 20, 100}));
    CHECK(detector.stragglers(InstanceId{0}) == std::vector{InstanceId{2}});  // 0.783
    detector.see(computing({100, 100, 90, 100}));
    CHECK(detector.stragglers(InstanceId{0}) == std::vector{InstanceId{2}});  // 0.795
    detector.see(computing({100, 100, 90, 100}));
    CHECK(detector.stragglers(InstanceId{0}).empty());
}

TEST_CASE("straggler rule: what was not measured does not count, who left is forgotten",
          "[straggler]") {
    StragglerDetector detector;
    auto views = computing({100, 100, 50});
    views[2].compute = {};
    detector.see(views);
    CHECK(detector.stragglers(InstanceId{0}).empty());
    detector.see(computing({100, 100, 50}));
    CHECK(detector.stragglers(InstanceId{0}) == std::vector{InstanceId{2}});
    detector.see(computing({100, 100}));
    detector.see({});
    CHECK(detector.stragglers(InstanceId{0}).empty());
}
