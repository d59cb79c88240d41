// age_hazard_test.cpp — rates of loss by age, from lifetimes seen and a prior.
#include "policies/checkpoint/age_hazard.hpp"

#include <catch2/catch.hpp>

#include "base/rng.hpp"

using namespace ukemi;
using namespace ukemi::policies;

TEST_CASE("age hazard: begins as the prior, whatever the age", "[age_hazard]") {
    const AgeHazard hazard(hours(8), 2);
    for (const Duration age : {Duration{}, minutes(20), hours(5), hours(200)}) {
        CHECK(hazard.per_hour(age) == Approx(1.0 / 8));
    }
}

TEST_CASE("age hazard: an age range takes its own losses and time at risk", "[age_hazard]") {
    // One imagined loss in 8 h. Four machines lived for 2 h, two of them no longer: D = 2, E = 8 h,
    // λ = 3 / 16. In [1 h, 2 h): (1 + 0) / (16/3 + 4). From 2 h on: (1 + 2) / (16/3 + 0).
    AgeHazard hazard(hours(8), 1);
    for (int machine = 0; machine < 4; ++machine) hazard.survived(Duration{}, hours(2));
    for (int machine = 0; machine < 2; ++machine) hazard.lost_at(hours(2), 1);
    CHECK(hazard.per_hour(minutes(90)) == Approx(1 / (16.0 / 3 + 4)));
    CHECK(hazard.per_hour(hours(2)) == Approx(3 / (16.0 / 3)));
    CHECK(hazard.per_hour(minutes(5)) == Approx(1 / (16.0 / 3 + 4.0 / 6)));
    // An age about which nothing is known has the rate of all ages together.
    CHECK(hazard.per_hour(hours(30)) == Approx(3.0 / 16));
}

TEST_CASE("age hazard: says at which age it changes next", "[age_hazard]") {
    const AgeHazard hazard(hours(8), 1);
    CHECK(hazard.next_edge(Duration{}) == minutes(10));
    CHECK(hazard.next_edge(minutes(10)) == minutes(30));
    CHECK(hazard.next_edge(hours(23)) == hours(24));
    CHECK(hazard.next_edge(hours(24)) == Duration::max());
    const AgeHazard capped(hours(8), 1, hours(12));
    CHECK(capped.next_edge(hours(9)) == hours(12));
    CHECK(capped.next_edge(hours(12)) == Duration::max());
}

TEST_CASE("age hazard: a known end is a range of its own", "[age_hazard]") {
    // D = 2, E = 24 h, λ = 3 / 32; one was lost seconds early, one late.
    AgeHazard hazard(hours(8), 1, hours(12));
    hazard.survived(Duration{}, hours(12));
    hazard.survived(Duration{}, hours(12));
    hazard.lost_at(hours(12) - whole_seconds(10), 1);
    hazard.lost_at(hours(12), 1);
    CHECK(hazard.per_hour(hours(10)) == Approx(1 / (32.0 / 3 + 8)));
    CHECK(hazard.per_hour(hours(13)) == Approx(3 / (32.0 / 3)));
}

TEST_CASE("age hazard: recovers the rates that lifetimes were drawn from", "[age_hazard]") {
    // 2 per hour in the first hour, 0.1 after it, looked at for 12 h: an early loss is likely, a
    // later one is not. 3000 machines give the first rate to 3 %, the second to about 10 %.
    RandomStream draw(5, "test");
    AgeHazard hazard(hours(12), 1);
    for (int machine = 0; machine < 3000; ++machine) {
        double lifetime_h = draw.exponential(0.5);
        if (lifetime_h > 1) lifetime_h = 1 + draw.exponential(10);
        const Duration lifetime = seconds(lifetime_h * 3600);
        hazard.survived(Duration{}, std::min(lifetime, hours(12)));
        if (lifetime < hours(12)) hazard.lost_at(lifetime, 1);
    }
    CHECK(hazard.per_hour(minutes(5)) == Approx(2).epsilon(0.08));
    CHECK(hazard.per_hour(minutes(45)) == Approx(2).epsilon(0.08));
    CHECK(hazard.per_hour(minutes(90)) == Approx(0.1).epsilon(0.3));
    CHECK(hazard.per_hour(hours(5)) == Approx(0.1).epsilon(0.3));
}
