// figure_style_test.cpp — width, letters, legend and panels of every figure; looks of policies.
#include "plots/figure_style.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "plots/legend.hpp"
#include "plots/policy_looks.hpp"

namespace ukemi {

using plots::FigureStyle;
using plots::LegendPlace;

TEST_CASE("figure style: a narrow picture with small letters has fewer pixels", "[figures]") {
    FigureStyle style;
    CHECK(style.width(900) == 900);
    style.width_in = 3.3;
    CHECK(style.width(900) == 330);
    // A letter of 13 pixels is 8 pt high, not 9.4: 330 x 9.4 / 8.
    style.font_pt = 8;
    CHECK(style.width(900) == 388);
    style.width_in.reset();
    CHECK(style.width(900) == 1058);
}

TEST_CASE("figure style: names of figures, of panels, or of both", "[figures]") {
    FigureStyle style;
    CHECK(style.shows("timeline", "price"));
    style.only = {"timeline/price", "cost", "topology"};
    CHECK(style.shows("timeline", "price"));
    CHECK_FALSE(style.shows("timeline", "progress"));
    CHECK(style.shows("variation", "cost"));
    CHECK(style.shows("topology", ""));
    CHECK_FALSE(style.shows("lifetimes", ""));
}

TEST_CASE("legend: as many columns as there is room for", "[figures]") {
    const auto height = [](LegendPlace place, double width) {
        std::vector<plots::LegendEntry> entries;
        for (int i = 0; i < 6; ++i) entries.push_back(plots::own_entry("ten letter", "lines"));
        return plots::Legend(place, std::move(entries), width).height();
    };
    // An entry is 10 x 8.2 + 46 = 128 pixels wide, a row 19 high, and 12 are around all.
    CHECK(height(LegendPlace::below, 800) == 31);
    CHECK(height(LegendPlace::below, 390) == 12 + 2 * 19);
    CHECK(height(LegendPlace::above, 100) == 12 + 6 * 19);
    CHECK(height(LegendPlace::right, 800) == 12 + 6 * 19);
    CHECK(height(LegendPlace::none, 800) == 0);
}

TEST_CASE("policy looks: short and long names are one policy, lists follow from names",
          "[figures]") {
    CHECK(plots::look_of("daly") == plots::look_of("daly_checkpoint"));
    CHECK(plots::look_of("on_notice") == plots::look_of("checkpoint_on_notice"));
    CHECK(plots::look_of("greedy+daly") == plots::look_of("greedy+daly_checkpoint"));
    CHECK(plots::look_of("greedy+daly") != plots::look_of("greedy"));
    CHECK(plots::look_of("greedy+daly").colour != plots::look_of("greedy+young").colour);
}

TEST_CASE("policy looks: all lines of one figure differ, whatever they are called", "[figures]") {
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i) names.push_back(fmt::format("mine_{}", i));
    const std::vector<plots::PolicyLook> looks = plots::looks_of(names);
    std::set<std::tuple<std::string_view, std::string_view, int>> seen;
    for (const plots::PolicyLook& look : looks) {
        CHECK(seen.emplace(look.colour, look.dash, look.point).second);
    }
    // Names whose own looks differ in their dashes alone: the list gives way.
    const std::vector<std::string> pair{"greedy+periodic:20min", "on_demand"};
    REQUIRE(plots::look_of(pair[0]).colour == plots::look_of(pair[1]).colour);
    REQUIRE(plots::look_of(pair[0]).point == plots::look_of(pair[1]).point);
    CHECK(plots::looks_of(pair)[0].colour != plots::look_of("on_demand").colour);
    CHECK(plots::looks_of(pair)[1] == plots::look_of("on_demand"));
}

}  // namespace ukemi
