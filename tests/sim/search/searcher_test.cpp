// searcher_test.cpp — who trains how far: Hyperband's brackets against the published ones, and each
// searcher by hand.
#include <catch2/catch.hpp>
#include <map>
#include <tuple>

#include "sim/search/searcher.hpp"

namespace ukemi {

namespace {

using sim::HalvingBracket;
using sim::TrialPiece;

std::unique_ptr<sim::Searcher> searcher_named(std::string_view name,
                                              std::string_view parameters = "{}") {
    ConfigReader reader = ConfigReader::from_text(parameters, name);
    auto made = sim::find_searcher(name)->make(reader);
    reader.finish();
    return made;
}

std::vector<TrialPiece> all_next(sim::Searcher& searcher, std::size_t most = 1000) {
    std::vector<TrialPiece> pieces;
    while (pieces.size() < most) {
        const auto piece = searcher.next(true);
        if (!piece) break;
        pieces.push_back(*piece);
    }
    return pieces;
}

// One after another, a trial's score being `score(trial, units)`. By trial the units it reached.
template <class Score>
std::map<std::size_t, std::int64_t> search_through(sim::Searcher& searcher, const Score& score) {
    std::map<std::size_t, std::int64_t> reached;
    while (const auto piece = searcher.next(true)) {
        CHECK(piece->until > reached[piece->trial]);
        reached[piece->trial] = piece->until;
        searcher.reached({piece->trial, piece->until, score(piece->trial, piece->until)});
    }
    return reached;
}

}  // namespace

TEST_CASE("hyperband: brackets of R = 81 and eta = 3", "[search]") {
    // Algorithm 1 of Li et al. (JMLR 2018): n = ⌈(s_max + 1)/(s + 1) · eta^s⌉.
    CHECK(sim::hyperband_brackets(81, 3, false) ==
          std::vector<HalvingBracket>{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                                      {{34, 3}, {11, 9}, {3, 27}, {1, 81}},
                                      {{15, 9}, {5, 27}, {1, 81}},
                                      {{8, 27}, {2, 81}},
                                      {{5, 81}}});
    // Its table 1, where ⌊(s_max + 1)/(s + 1)⌋ is whole.
    CHECK(sim::hyperband_brackets(81, 3, true) ==
          std::vector<HalvingBracket>{{{81, 1}, {27, 3}, {9, 9}, {3, 27}, {1, 81}},
                                      {{27, 3}, {9, 9}, {3, 27}, {1, 81}},
                                      {{9, 9}, {3, 27}, {1, 81}},
                                      {{6, 27}, {2, 81}},
                                      {{5, 81}}});
    CHECK(sim::hyperband_brackets(1, 3, false) == std::vector<HalvingBracket>{{{1, 1}}});
}

TEST_CASE("hyperband: starts as many trials as its brackets have", "[search]") {
    const auto hyperband = searcher_named("hyperband");
    hyperband->begin({1, 81, 0});
    CHECK(hyperband->trials() == 81 + 34 + 15 + 8 + 5);
    CHECK(hyperband->pieces_max() == 121 + 49 + 21 + 10 + 5);
    std::size_t full = 0;
    const auto reached = search_through(
        *hyperband, [](std::size_t trial, std::int64_t) { return static_cast<double>(trial); });
    for (const auto& [trial, units] : reached) full += units == 81 ? 1 : 0;
    CHECK(full == 1 + 1 + 1 + 2 + 5);
    CHECK(reached.at(80) == 81);   // the best of its bracket
    CHECK(reached.at(0) == 1);     // the worst
    CHECK(reached.at(114) == 81);  // the last of the second bracket
}

TEST_CASE("successive_halving: all wait for the last of a rung", "[search]") {
    const auto halving = searcher_named("successive_halving", R"({"eta": 2})");
    halving->begin({5, 8, 0});
    // 5 trials let themselves be halved twice: at 2, 4 and 8 units.
    CHECK(all_next(*halving) == std::vector<TrialPiece>{{0, 2}, {1, 2}, {2, 2}, {3, 2}, {4, 2}});
    halving->reached({3, 2, 0.9});
    halving->reached({0, 2, 0.5});
    halving->reached({1, 2, 0.7});
    halving->reached({2, 2, 0.7});
    CHECK(all_next(*halving).empty());
    halving->reached({4, 2, 0.1});
    CHECK(all_next(*halving) == std::vector<TrialPiece>{{3, 4}, {1, 4}});  // of equals the first
    halving->reached({1, 4, 0.8});
    halving->reached({3, 4, 0.6});
    CHECK(all_next(*halving) == std::vector<TrialPiece>{{1, 8}});
    halving->reached({1, 8, 0.8});
    CHECK(all_next(*halving).empty());
}

TEST_CASE("asha: a trial goes on as soon as it is among the best of its rung", "[search]") {
    const auto asha = searcher_named("asha");
    asha->begin({9, 9, 0});
    CHECK(asha->next(false) == std::nullopt);
    CHECK(all_next(*asha, 2) == std::vector<TrialPiece>{{0, 1}, {1, 1}});
    asha->reached({0, 1, 0.5});
    asha->reached({1, 1, 0.6});
    CHECK(asha->next(true) == TrialPiece{2, 1});  // two are too few for the best third of them
    asha->reached({2, 1, 0.4});
    CHECK(asha->next(true) == TrialPiece{1, 3});
    CHECK(asha->next(true) == TrialPiece{3, 1});
    asha->reached({3, 1, 0.9});
    CHECK(asha->next(true) == TrialPiece{3, 3});  // now it is the best of four
    CHECK(asha->next(true) == TrialPiece{4, 1});
    asha->reached({4, 1, 0.1});
    CHECK(asha->next(true) == TrialPiece{5, 1});
    asha->reached({5, 1, 0.2});
    CHECK(asha->next(true) == TrialPiece{6, 1});  // the best two of six have gone on
    asha->reached({6, 1, 0.3});
    asha->reached({1, 3, 0.6});
    asha->reached({3, 3, 0.9});
    const auto rest = search_through(
        *asha, [](std::size_t trial, std::int64_t) { return static_cast<double>(trial); });
    CHECK(rest.at(7) == 9);  // the third to come to three units, and the best there
    CHECK(rest.at(8) == 9);  // better still
}

TEST_CASE("asha: with any number of trials somebody is trained in full", "[search]") {
    for (std::size_t trials = 1; trials <= 40; ++trials) {
        CAPTURE(trials);
        const auto asha = searcher_named("asha");
        asha->begin({trials, 27, 0});
        const auto reached = search_through(*asha, [](std::size_t trial, std::int64_t) {
            return static_cast<double>(trial * 7 % 11);
        });
        CHECK(reached.size() == trials);
        std::int64_t most = 0;
        for (const auto& [trial, units] : reached) most = std::max(most, units);
        CHECK(most == 27);
    }
}

TEST_CASE("pbt: the worst fifth takes over from the best, once all are there", "[search]") {
    const auto pbt = searcher_named("pbt", R"({"interval": 4})");
    pbt->begin({5, 10, 3});
    CHECK(pbt->pieces_max() == 15);
    CHECK(all_next(*pbt).size() == 5);
    for (std::size_t i = 0; i < 4; ++i) pbt->reached({i, 4, static_cast<double>(i)});
    CHECK(all_next(*pbt).empty());
    pbt->reached({4, 4, 2.5});
    CHECK(all_next(*pbt) ==
          std::vector<TrialPiece>{{3, 8}, {4, 8}, {2, 8}, {1, 8}, {0, 8, std::size_t{3}}});
    for (std::size_t i = 0; i < 5; ++i) pbt->reached({i, 8, static_cast<double>(i)});
    const auto last = all_next(*pbt);
    REQUIRE(last.size() == 5);
    CHECK(last.front() == TrialPiece{4, 10});
    CHECK(last.back() == TrialPiece{0, 10, std::size_t{4}});
    for (std::size_t i = 0; i < 5; ++i) pbt->reached({i, 10, 0});
    CHECK(all_next(*pbt).empty());
    CHECK(searcher_named("pbt", R"({"interval": 11})")->problem({5, 10, 3}) != "");
}

TEST_CASE("searchers: all start what they say, and nobody trains twice", "[search][property]") {
    for (const sim::SearcherEntry& entry : sim::all_searchers()) {
        CAPTURE(entry.name);
        for (const auto& [trials, units] : {std::pair(std::size_t{1}, std::int64_t{1}),
                                            std::pair(std::size_t{27}, std::int64_t{9}),
                                            std::pair(std::size_t{10}, std::int64_t{100})}) {
            const auto searcher = searcher_named(entry.name);
            searcher->begin({trials, units, 1});
            const auto reached = search_through(*searcher, [](std::size_t trial, std::int64_t at) {
                return static_cast<double>((trial * 13 + static_cast<std::size_t>(at)) % 17);
            });
            CHECK(reached.size() == searcher->trials());
            std::int64_t most = 0;
            for (const auto& [trial, there] : reached) most = std::max(most, there);
            CHECK(most == units);
        }
    }
}

}  // namespace ukemi
