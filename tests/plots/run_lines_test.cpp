// run_lines_test.cpp — runs over time: what they learned, and with which batch.
#include <catch2/catch.hpp>
#include <limits>

#include "plots/figures.hpp"
#include "tests/plots/without_gnuplot.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

plots::FigureInput two_runs() {
    plots::FigureInput input;
    input.learning = {{"steady", {{0, 0}, {2, 1}}, {}, {{0, 32}, {1, 32}, {2, 32}}},
                      {"growing", {{0, 0}, {1, 1}}, {}, {{0, 32}, {0.5, 512}, {1, 512}}}};
    return input;
}

}  // namespace

TEST_CASE("learned_over_time: a row a point", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_learned_over_time(two_runs(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv") ==
          "line,t_h,learned,run\n0,0,0,steady\n0,2,1,steady\n1,0,0,growing\n1,1,1,growing\n");
}

TEST_CASE("learned_over_time: shows the metric where all runs have one", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_runs();
    input.learning[0].metric = {{0, 0.1}, {2, 0.9}};
    plots::draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv").starts_with("line,t_h,learned"));
    input.learning[1].metric = {{0, 0.1}, {1, 0.8}};
    plots::draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv").starts_with("line,t_h,metric,run\n0,0,0.1,"));
}

TEST_CASE("batch_over_time: a row a change, and the last", "[figures][golden]") {
    const ScratchFolder folder;
    plots::draw_batch_over_time(two_runs(), folder.path(), without_gnuplot());
    CHECK(folder.text_of("batch_over_time.csv") ==
          "line,t_h,batch,run\n0,0,32,steady\n0,2,32,steady\n1,0,32,growing\n1,0.5,512,growing\n"
          "1,1,512,growing\n");
}

TEST_CASE("learned_over_time: bands have a key, and numbers room", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_runs();
    constexpr std::string_view key = "title '95 % interval'";
    plots::draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.gp").find(key) == std::string::npos);
    input.learning[0].learned_band = {{{0, 0}, {2, 0.9}}, {{0, 0}, {2, 1}}};
    plots::draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.gp").find(key) != std::string::npos);
    const auto left_of = [&](double batch) {
        input.learning[1].batch[1].second = batch;
        plots::draw_batch_over_time(input, folder.path(), without_gnuplot());
        const std::string script = folder.text_of("batch_over_time.gp");
        constexpr std::string_view margin = "set lmargin at screen ";
        return 1000 * std::stod(script.substr(script.find(margin) + margin.size()));  // pixels
    };
    CHECK(left_of(8192) > 90);  // its axis has 10000
    CHECK(left_of(1e6) > left_of(8192));
}

TEST_CASE("batch_over_time: what no axis can show is refused, and no room is said", "[figures]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_runs();
    input.learning[1].batch[1].second = GENERATE(0.0, std::numeric_limits<double>::quiet_NaN());
    CHECK_FALSE(
        plots::draw_batch_over_time(input, folder.path(), without_gnuplot()).problem.empty());
    input = two_runs();
    input.learning.resize(13, input.learning.front());
    CHECK(plots::draw_batch_over_time(input, folder.path(), without_gnuplot()).notes.size() == 1);
}

TEST_CASE("learned_over_time: a band of several seeds stands beside its line",
          "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_runs();
    input.learning[0].learned_band = {{{0, 0}, {2, 0.9}}, {{0, 0}, {2, 1.1}}};
    plots::draw_learned_over_time(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("learned_over_time.csv") ==
          "line,t_h,learned,low,high,run\n0,0,0,0,0,steady\n0,2,1,0.9,1.1,steady\n"
          "1,0,0,0,0,growing\n1,1,1,1,1,growing\n");
    CHECK_THAT(folder.text_of("learned_over_time.gp"), Catch::Contains("filledcurves"));
    input.learning[0].learned_band.high.pop_back();
    CHECK_FALSE(
        plots::draw_learned_over_time(input, folder.path(), without_gnuplot()).problem.empty());
}

TEST_CASE("metric_over_samples and noise_over_samples: by the samples used", "[figures][golden]") {
    const ScratchFolder folder;
    plots::FigureInput input = two_runs();
    CHECK_FALSE(
        plots::draw_metric_over_samples(input, folder.path(), without_gnuplot()).problem.empty());
    input.learning[1].metric_by_samples = {{0, 0.1}, {100, 0.9}};
    input.learning[1].noise_by_samples = {{0, 20}, {100, 300}};
    plots::draw_metric_over_samples(input, folder.path(), without_gnuplot());
    plots::draw_noise_over_samples(input, folder.path(), without_gnuplot());
    CHECK(folder.text_of("metric_over_samples.csv") ==
          "line,samples,metric,run\n0,0,0.1,growing\n0,100,0.9,growing\n");
    CHECK(folder.text_of("noise_over_samples.csv") ==
          "line,samples,noise_scale,run\n0,0,20,growing\n0,100,300,growing\n");
    // A quarter beyond the least and the most, and tics between powers of ten.
    CHECK_THAT(folder.text_of("noise_over_samples.gp"),
               Catch::Contains("set logscale y\nset yrange [16:375]\n"
                               "set ytics (20, 50, 100, 200)\n"));
}

}  // namespace ukemi
