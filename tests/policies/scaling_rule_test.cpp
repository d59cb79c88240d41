// scaling_rule_test.cpp — the walk over sizes, utility against cost, and the split of a batch.
#include "policies/size/scaling_rule.hpp"

#include <catch2/catch.hpp>

using namespace ukemi;
using namespace ukemi::policies;

namespace {

// Sizes 4, 8, 12 … with 200 steps measured at each.
std::vector<MeasuredSize> sizes(std::int32_t first, std::size_t count) {
    std::vector<MeasuredSize> list;
    for (std::size_t i = 0; i < count; ++i) {
        list.push_back({first + 4 * static_cast<std::int32_t>(i), 1000, 200});
    }
    return list;
}

const ScalingLimits limits{4, 4, 24, 3, 100};

}  // namespace

TEST_CASE("scaling rule: efficiency is what a worker adds of what one brought", "[scaling]") {
    CHECK(scaling_efficiency({4, 400, 1}, {8, 800, 1}) == Approx(1));
    CHECK(scaling_efficiency({4, 400, 1}, {8, 400, 1}) == Approx(0));
    CHECK(scaling_efficiency({4, 400, 1}, {8, 360, 1}) == Approx(-0.1));
    // ResNet-50 on ImageNet, 5 epochs in 4550 and 3638 s with 32 and 40 workers (Or et al.).
    const double samples = 5 * 1'281'167.0;
    CHECK(scaling_efficiency({32, samples / 4550, 1}, {40, samples / 3638, 1}) ==
          Approx(1.00).margin(0.005));
}

TEST_CASE("scaling rule: the first size leads to a second, inside the limits", "[scaling]") {
    CHECK(next_size(sizes(8, 1), {}, limits) == 12);
    CHECK(next_size(sizes(24, 1), {}, limits) == 20);
    CHECK(next_size(sizes(4, 1), {}, {4, 4, 4, 3, 100}) == 4);
}

TEST_CASE("scaling rule: grows while all pass, shrinks while the smallest do not", "[scaling]") {
    CHECK(next_size(sizes(8, 2), {true}, limits) == 16);
    CHECK(next_size(sizes(8, 2), {false}, limits) == 4);
    CHECK(next_size(sizes(8, 3), {true, false}, limits) == 4);  // two would have to pass …
    CHECK(next_size(sizes(8, 3), {true, false}, {4, 4, 24, 1, 100}) == 12);  // … where one will do
    CHECK(next_size(sizes(8, 5), {true, true, true, false}, limits) == 20);
    CHECK(next_size(sizes(12, 4), {true, true, true}, limits) == 24);  // the largest there is
    CHECK(next_size(sizes(20, 2), {true}, limits) == 16);              // too few have passed
}

TEST_CASE("scaling rule: stays at the size after the last that passed until it is well measured",
          "[scaling]") {
    auto measured = sizes(4, 3);
    CHECK(next_size(measured, {false, false}, limits) == 4);
    measured[1].steps = 99;
    CHECK(next_size(measured, {false, false}, limits) == 8);
    measured[1].steps = 100;
    CHECK(next_size(measured, {false, false}, limits) == 4);
    measured[2].steps = 10;
    CHECK(next_size(measured, {true, false}, limits) == 12);
}

TEST_CASE("scaling rule: utility is a line, or lines through points", "[scaling]") {
    const auto linear = UtilityOfTime::linear({10, hours(3)});
    CHECK(linear.dollars_at(0) == Approx(10));
    CHECK(linear.dollars_at(5400) == Approx(5));
    CHECK(linear.dollars_at(3 * 5400) == Approx(-5));
    const auto steps = UtilityOfTime::steps({{10, hours(1)}, {4, hours(2)}}, hours(4));
    CHECK(steps.dollars_at(1800) == Approx(10));
    CHECK(steps.dollars_at(3600) == Approx(10));
    CHECK(steps.dollars_at(5400) == Approx(7));
    CHECK(steps.dollars_at(3 * 3600) == Approx(2));
    CHECK(steps.dollars_at(5 * 3600) == Approx(-2));
    CHECK(UtilityOfTime::steps({{10, hours(1)}}, minutes(30)).dollars_at(1e6) == Approx(10));
}

TEST_CASE("scaling rule: finishing sooner must be worth more than it costs", "[scaling]") {
    // An hour is left with one worker, 40 min with two: 20 min sooner for 20 min of a worker more.
    const MeasuredSize one{1, 1, 200};
    const MeasuredSize two{2, 1.5, 200};
    const auto utility = UtilityOfTime::linear({3, hours(3)});  // a dollar an hour
    CHECK(utility_passes(one, two, utility, {minutes(10), 3600, 0.99}));
    CHECK_FALSE(utility_passes(one, two, utility, {minutes(10), 3600, 1.01}));
    CHECK_FALSE(utility_passes(one, two, utility, {minutes(10), 0, 0.5}));
}
