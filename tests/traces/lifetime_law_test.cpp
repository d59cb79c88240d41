// lifetime_law_test.cpp — the bathtub of lifetimes: drawn, estimated, fitted.
#include "traces/lifetime_law.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "tests/recorded.hpp"
#include "tests/traces/fixture.hpp"

using namespace ukemi;
using namespace ukemi::traces;

namespace {

// The means of the paper's figures.
constexpr LifetimeLaw published{0.45, 1.0, 0.8, 24};

std::vector<Lifetime> drawn(const LifetimeLaw& law, std::size_t count, Duration given_back) {
    RandomStream random(3, "test/lifetimes");
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < count; ++i) {
        const Duration life = draw_lifetime(law, random);
        lifetimes.push_back({"", "", "", std::min(life, given_back), life <= given_back});
    }
    return lifetimes;
}

}  // namespace

TEST_CASE("lifetime law: nobody is gone at once, everybody soon after the cap",
          "[lifetimes][property]") {
    CHECK(gone_after(published, 0) == 0);
    CHECK(gone_after(published, 26) == 1);
    double before = 0;
    for (int quarter = 0; quarter <= 104; ++quarter) {
        const double gone = gone_after(published, quarter / 4.0);
        CHECK(gone >= before);
        before = gone;
    }
    // After three hours the early ones are gone, and until the wall nearly nobody follows.
    CHECK(gone_after(published, 3) == Approx(0.45 * 0.95).margin(0.01));
    CHECK(gone_after(published, 18) == Approx(0.45).margin(0.01));
}

TEST_CASE("lifetime law: the estimate counts those given back while they were there",
          "[lifetimes]") {
    // At risk 4, 3, then 1: S = 3/4, 3/4·2/3 = 1/2, and 0 after the last.
    const std::vector<Lifetime> lifetimes{{"", "", "", hours(2), true},
                                          {"", "", "", hours(1), true},
                                          {"", "", "", hours(2), false},
                                          {"", "", "", hours(5), true}};
    const auto survival = survival_of(lifetimes);
    REQUIRE(survival.size() == 3);
    CHECK(survival[0].alive == Approx(0.75));
    CHECK(survival[1].hours == 2);
    CHECK(survival[1].alive == Approx(0.5));
    CHECK(survival[2].alive == Approx(0.0).margin(1e-12));
    CHECK_FALSE(fit_lifetime_law({}).is_on());
}

TEST_CASE("lifetime law: what is drawn is what was asked for, and is found again", "[lifetimes]") {
    const auto all = drawn(published, 4000, hours(100));
    // Kolmogorov: 4000 draws stray by more than 0.026 once in a hundred times.
    CHECK(distance(survival_of(all), published) < 0.026);
    const LifetimeLaw fitted = fit_lifetime_law(all);
    CHECK(fitted.share == Approx(0.45).margin(0.03));
    CHECK(fitted.early_h == Approx(1.0).margin(0.15));
    CHECK(fitted.cap_h == Approx(24).margin(0.4));
    // Half of them given back after twelve hours: the early part is still found.
    const LifetimeLaw censored = fit_lifetime_law(drawn(published, 4000, hours(12)));
    CHECK(gone_after(censored, 3) == Approx(gone_after(published, 3)).margin(0.03));
}

TEST_CASE("recorded: lifetimes of preemptible machines are a bathtub", "[lifetimes][recorded]") {
    const auto data = recorded_data();
    const Trace trace = read_record(*data / "goog_preemption/lifetimes.csv");
    const LifetimeLaw law = fit_lifetime_law(trace.lifetimes);
    const double far = distance(survival_of(trace.lifetimes), law);
    CHECK(law.cap_h == Approx(24).margin(1));  // Google's cap
    CHECK(law.share > 0.2);
    CHECK(law.share < 0.6);
    CHECK(law.early_h < 4);
    CHECK(far < 0.16);
    // Measured hazards between the bathtub's walls are not quite zero: the law's bottom is flat.
    WARN("Kaplan-Meier and the fitted law differ by at most " << far);
}
