// run_lines_test.cpp — runs over time: what they learned, and with which batch.
#include <catch2/catch.hpp>
#include <limits>

#include "plots/figures.hpp"
#include "tests/plots/scratch_folder.hpp"

namespace ukemi {
namespace {

FigureOptions without_gnuplot() { return {.pdf = false, .gnuplot = "no-such-gnuplot"}; }

FigureInput two_runs() {
    FigureInput input;
    input.learning = {{"steady", {{0, 0}, {2, 1}}, {}, {{0, 32}, {1, 32}, {2, 32}}},
                      {"growing", {{0, 0}, {1, 1}}, {}, {{0, 32}, {0.5, 512}, {1, 512}}}};
    return input;
}

}  // namespace

TEST_CASE("learned_over_time: a row a point", "[figures][golden]") {
    const ScratchFolder folder;
    draw_learned_over_time(two_runs(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv") ==
          "line,t_h,learned,run\n0,0,0,steady\n0,2,1,steady\n1,0,0,growing\n1,1,1,growing\n");
}

TEST_CASE("learned_over_time: shows the metric where all runs have one", "[figures]") {
    const ScratchFolder folder;
    FigureInput input = two_runs();
    input.learning[0].metric = {{0, 0.1}, {2, 0.9}};
    draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv").starts_with("line,t_h,learned"));
    input.learning[1].metric = {{0, 0.1}, {1, 0.8}};
    draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv").starts_with("line,t_h,metric,run\n0,0,0.1,"));
}

TEST_CASE("batch_over_time: a row a change, and the last", "[figures][golden]") {
    const ScratchFolder folder;
    draw_batch_over_time(two_runs(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("batch_over_time.csv") ==
          "line,t_h,batch,run\n0,0,32,steady\n0,2,32,steady\n1,0,32,growing\n1,0.5,512,growing\n"
          "1,1,512,growing\n");
}

TEST_CASE("batch_over_time: what no axis can show is refused, and no room is said", "[figures]") {
    const ScratchFolder folder;
    FigureInput input = two_runs();
    input.learning[1].batch[1].second = GENERATE(0.0, std::numeric_limits<double>::quiet_NaN());
    CHECK_FALSE(draw_batch_over_time(input, folder.path(), without_gnuplot()).problem.empty());
    input = two_runs();
    input.learning.resize(13, input.learning.front());
    CHECK(draw_batch_over_time(input, folder.path(), without_gnuplot()).notes.size() == 1);
}

}  // namespace ukemi
