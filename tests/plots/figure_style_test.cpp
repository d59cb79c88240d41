// figure_style_test.cpp — width, letters, legend and panels of every figure; looks of policies.
#include "plots/figure_style.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "plots/legend.hpp"
#include "plots/panels.hpp"
#include "plots/policy_looks.hpp"
#include "plots/policy_rows.hpp"
#include "plots/title.hpp"

namespace ukemi {

using Catch::Contains;
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
    // One of the files of a figure, beside a panel of all of them.
    style.only = {"variation-2", "cost"};
    CHECK(style.shows("variation", "time"));  // in some file
    CHECK(style.shows("variation", "time", "variation-2"));
    CHECK_FALSE(style.shows("variation", "time", "variation"));
    CHECK(style.shows("variation", "cost", "variation-3"));
    CHECK_FALSE(style.shows("timeline", "price", "timeline-2"));
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

TEST_CASE("panels: what stands beside one widens no other gap", "[figures]") {
    plots::Panels panels;
    panels.width = 1300;
    panels.left = 64;
    panels.right = 12;
    panels.gap = 12;
    panels.count = 3;
    CHECK(panels.wide() == 400);
    panels.beside = {0, 60};
    CHECK(panels.wide() == 380);
    CHECK_THAT(panels.margins(1), Contains(fmt::format("lmargin at screen {:.6g}", 456 / 1300.0)));
    CHECK_THAT(panels.margins(2), Contains(fmt::format("lmargin at screen {:.6g}", 908 / 1300.0)));
    // Below each other all are as wide as the one that has something beside it.
    panels.width = 400;
    REQUIRE(panels.stacked());
    CHECK(panels.wide() == 400 - 64 - 12 - 60);
    CHECK_THAT(panels.margins(0), Contains(fmt::format("lmargin at screen {:.6g}", 64 / 400.0)));
}

TEST_CASE("title: wrapped at spaces, a word longer than a line within it", "[figures]") {
    const plots::Title one("greedy on west", 300);
    CHECK(one.more() == 0);
    CHECK(one.settings() == "array title_lines[1]\ntitle_lines[1] = 'greedy on west'\n");
    // 100 pixels, of which 80 are left: nine letters of 8.2.
    const plots::Title three("greedy on a-longish-name", 100);
    CHECK(three.settings() ==
          "array title_lines[3]\ntitle_lines[1] = 'greedy on'\ntitle_lines[2] = 'a-longish'\n"
          "title_lines[3] = '-name'\n");
    CHECK(three.more() == 2 * 17);
    CHECK(plots::Title("", 100).empty());
    CHECK(plots::Title("", 100).label(100, 100).empty());
}

TEST_CASE("title: four lines at most, then it loses its middle", "[figures]") {
    std::string text = "first";
    for (int i = 0; i < 60; ++i) text += " word";
    const plots::Title title(text + " last", 200);
    CHECK(title.more() <= 3 * 17);
    CHECK_THAT(title.settings(), Contains("= 'first word") && Contains("…") && Contains("last'\n"));
}

TEST_CASE("rows: a long name goes on in a second line where a part of it begins", "[figures]") {
    FigureStyle column;
    column.width_in = 3.3;
    column.font_pt = 8;
    const auto lines_of = [&](const std::string& name) {
        plots::PolicyRows rows;
        rows.rows = {{name, {}, 0}};
        const std::string text = plots::row_layout(rows, column, 1000).settings;
        return text.substr(text.find("names[1] ="));
    };
    // 16 letters have room.
    CHECK(lines_of("greedy+daly") == "names[1] = 'greedy+daly'\nbelow[1] = ''\n");
    CHECK(lines_of("follow_capacity+greedy+daly") ==
          "names[1] = 'follow_capacity'\nbelow[1] = '+greedy+daly'\n");
    CHECK(lines_of("batch 16, workers 32") == "names[1] = 'batch 16,'\nbelow[1] = 'workers 32'\n");
    CHECK(lines_of("cheapest_region_net+daly") ==
          "names[1] = 'cheapest_region_'\nbelow[1] = 'net+daly'\n");
    CHECK(lines_of("uniform_progress+periodic+on_notice") ==
          "names[1] = 'uniform_progress'\nbelow[1] = '+periodi…_notice'\n");
    CHECK(lines_of("ööööööööööööööööööö") == "names[1] = 'öööööööööööööööö'\nbelow[1] = 'ööö'\n");
}

TEST_CASE("rows: no two have the same name", "[figures]") {
    FigureStyle column;
    column.width_in = 3.3;
    column.font_pt = 8;
    plots::PolicyRows rows;
    for (const char* middle : {"4", "8"}) {
        rows.rows.push_back(
            {fmt::format("Qwen3 30B, 16 H100, batch {}, on 16 of them", middle), {}, 0});
    }
    const std::string text = plots::row_layout(rows, column, 1000).settings;
    const auto line = [&](const std::string& array) {
        const std::size_t at = text.find(array + " = ");
        REQUIRE(at != text.npos);
        return text.substr(at + array.size(), text.find('\n', at) - at - array.size());
    };
    CHECK(line("names[1]") == line("names[2]"));
    CHECK(line("below[1]") != line("below[2]"));
    CHECK(line("below[2]").ends_with(" (2)'"));
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
