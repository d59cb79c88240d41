// recorded_learning_test.cpp — the laws against recorded and published training: what they were
// fitted on is not counted as predicted, and what was chosen with the data in sight is said in the
// tables (`ukemi fit --learning` prints them).
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include "base/input_error.hpp"
#include "sim/learning/published_learning.hpp"
#include "sim/learning/published_schedules.hpp"
#include "sim/learning/recorded_runs.hpp"
#include "tests/recorded.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {
namespace {

// Each with a guess beside it that needs no law.
int predictions(const std::vector<sim::LearningTable>& tables,
                sim::FitRole role = sim::FitRole::predicted) {
    int count = 0;
    for (const sim::LearningTable& table : tables) {
        CHECK_FALSE(table.naive.empty());
        for (const sim::LearningRow& row : table.rows) {
            CAPTURE(table.title, row.name);
            CHECK(row.naive.has_value() == (row.role != sim::FitRole::fitted));
            count += row.role == role ? 1 : 0;
        }
    }
    return count;
}

const sim::LearningRow& row_named(const sim::LearningTable& table, std::string_view name) {
    const auto found = std::ranges::find(table.rows, name, &sim::LearningRow::name);
    REQUIRE(found != table.rows.end());
    return *found;
}

void write(const std::filesystem::path& file, std::string_view text) {
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
}

}  // namespace

TEST_CASE("recorded learning: the steps of Pollux's runs at other batches than the fitted ones",
          "[learning][recorded]") {
    const auto folder = *recorded_data() / "pollux/traces";
    const auto tables = sim::pollux_iterations(folder);
    for (const sim::LearningTable& table : tables) {
        for (const sim::LearningRow& row : table.rows) {
            CAPTURE(row.name, row.predicted, row.published);
            CHECK(std::abs(row.error()) < (row.role == sim::FitRole::fitted ? 0.01 : 0.05));
        }
    }
    if (tables.size() < 4) {
        WARN("left out: no recorded data: all models of pollux/traces");
        return;
    }
    CHECK(predictions(tables) >= 10);
}

TEST_CASE("recorded learning: AdaScale's iterations from statistics that others recorded",
          "[learning][recorded]") {
    const auto folder = *recorded_data() / "pollux/traces";
    for (const sim::LearningTable& table : sim::ada_scale_iterations(folder)) {
        REQUIRE(table.rows.size() == 4);
        for (const sim::LearningRow& row : table.rows) {
            CAPTURE(row.name, row.predicted, row.published);
            CHECK(row.role == sim::FitRole::chosen_after_seeing);
            CHECK(std::abs(row.error()) < 0.10);  // beyond what was recorded, too
        }
        CHECK(table.mean_error() < 0.25 * table.mean_naive_error());
    }
}

TEST_CASE("recorded learning: Zeus's epochs, each batch from all others", "[learning][recorded]") {
    const auto tables = sim::zeus_epochs(*recorded_data() / "zeus/summary_train.csv");
    REQUIRE_FALSE(tables.empty());
    CHECK(predictions(tables) >= 8);
    for (const sim::LearningTable& table : tables) {
        CAPTURE(table.title);
        CHECK(table.rows.size() >= 4);
        CHECK(std::isfinite(table.worst_error()));
        CHECK(table.mean_error() < 0.5);
        if (table.title.ends_with("beside")) CHECK(table.mean_error() < 0.25);
    }
}

TEST_CASE("recorded learning: a GPU's compute time, each batch from all others",
          "[learning][recorded]") {
    double ours = 0;
    double naive = 0;
    int places = 0;
    for (const char* place : {"pollux/traces", "sia/traces"}) {
        const auto data = recorded_data(place);
        if (!data) {
            WARN("left out: no recorded data: " << place);
            continue;
        }
        const auto tables = sim::step_compute_times(*data / place);
        REQUIRE_FALSE(tables.empty());
        ++places;
        for (const sim::LearningTable& table : tables) {
            CAPTURE(place, table.title);
            CHECK(table.rows.front().role == sim::FitRole::chosen_after_seeing);
            CHECK(table.mean_error() < 0.15);
            CHECK(table.worst_error() < 0.35);
            for (const sim::LearningRow& row : table.rows) {
                ours += std::abs(row.error());
                naive += std::abs(row.naive.value() / row.published - 1);
            }
        }
    }
    if (places == 2) CHECK(ours < 0.95 * naive);  // of 238 rows
}

TEST_CASE("recorded learning: a step's time by the others, a line's or the nearest two's",
          "[learning][golden]") {
    // On a line of 2 + B, every batch is what the line says.
    const std::map<double, double> straight{{1, 3}, {2, 4}, {4, 6}, {8, 10}, {16, 18}};
    CHECK(sim::time_from_others(straight, 4) == Approx(6));
    CHECK(sim::time_from_others(straight, 16) == Approx(18));
    // B^0.5 is straight where both axes are logarithmic.
    const std::map<double, double> root{{1, 1}, {4, 2}, {16, 4}, {64, 8}, {256, 16}};
    CHECK(sim::time_from_others(root, 16) == Approx(4));
    CHECK(sim::time_from_others(root, 256) == Approx(16));
    // Two others say nothing of each other: the line through both.
    CHECK(sim::time_from_others({{1, 3}, {2, 4}, {4, 60}}, 4) == Approx(6));
}

TEST_CASE("recorded learning: a line between two batches, both axes logarithmic",
          "[learning][golden]") {
    const std::map<double, double> points{{1, 100}, {10, 10}, {1000, 40}};
    CHECK(sim::on_log_line(points, 100) == Approx(20));
    CHECK(sim::on_log_line(points, 0.1) == Approx(1000));
    CHECK(sim::on_log_line(points, 10) == Approx(100 * std::pow(0.4, 1.0 / 3)));  // without itself
    CHECK(sim::on_log_line(points, 100'000) == Approx(160));
}

TEST_CASE("recorded learning: Goyal's rows by the law that five of them set",
          "[learning][golden]") {
    const sim::NoiseScaleLaw law = sim::goyal_law();
    CHECK(law.reference_over_best == Approx(0.266).margin(0.005));
    CHECK(law.rate_limit == Approx(4.7).margin(0.05));
    CHECK(law.accuracy->scale == Approx(0.0176).margin(0.0003));
    const sim::LearningTable table = sim::goyal_errors(law);
    REQUIRE(table.rows.size() == 20);
    for (const sim::LearningRow& row : table.rows) {
        CAPTURE(row.name, row.published, row.predicted);
        const bool breaks = row.name == "batch 65536" || row.name == "8192, no warm-up";
        CHECK(std::abs(row.error()) < (breaks ? 0.10 : 0.04));
    }
    CHECK(predictions({table}, sim::FitRole::chosen_after_seeing) == 14);
    CHECK(table.mean_error() < 0.4 * table.mean_naive_error());
}

TEST_CASE("recorded learning: time to accuracy by batch on one Titan X, and what is not explained",
          "[learning][golden]") {
    const auto tables = sim::titan_x_times();
    REQUIRE(tables.size() == 2);
    // By throughput and the critical batch alone: a step of half the samples takes half the time at
    // best, so nothing in it explains three times the time.
    CHECK(row_named(tables[0], "batch 32").error() < -0.4);
    for (const char* name : {"batch 128", "batch 256", "batch 512"}) {
        CHECK(std::abs(row_named(tables[0], name).error()) < 0.25);
    }
    // If 32 waits for the first drop of the rate, the other four follow; that it does was chosen
    // with them in sight.
    CHECK(predictions({tables[1]}, sim::FitRole::chosen_after_seeing) == 4);
    CHECK(tables[1].worst_error() < 0.25);
}

TEST_CASE("recorded runs: any files of the form are read, and others refused by name",
          "[learning]") {
    const ScratchFolder folder;
    const auto model = folder.path() / "traces" / "some_model";
    CHECK(sim::recorded_runs(model).empty());
    write(model / "validation-10.csv", "iteration,progress\n9,9\n20,20\n");
    write(model / "validation-40.csv", "progress,iteration,grad_sqr,grad_var\n20,8,1,4\n");
    write(model / "notes.csv", "nothing\n");
    const sim::RecordedRuns runs = sim::recorded_runs(model);
    REQUIRE(runs.size() == 2);
    CHECK(runs.at(10).rows.back().progress_steps == 20);
    CHECK(runs.at(40).rows.front().squared_norm == 1);
    std::vector<std::string> left_out;  // two batches predict nothing
    CHECK(sim::pollux_iterations(folder.path() / "traces", &left_out).empty());
    REQUIRE(left_out.size() == 1);
    CHECK_THAT(left_out[0], Catch::EndsWith("some_model: it has 2 of the three batches that are "
                                            "needed"));
    write(model / "validation-20.csv", "\xef\xbb\xbfprogress,iteration\n9,5\n20,12\n");
    const auto tables = sim::pollux_iterations(folder.path() / "traces");
    REQUIRE(tables.size() == 1);
    CHECK(row_named(tables[0], "some_model at 20").role == sim::FitRole::predicted);
    CHECK(row_named(tables[0], "some_model at 40").predicted == 8);
    write(model / "validation-80.csv", "progress,iteration\n9,5\n9,6\n");
    CHECK_THROWS_WITH(sim::recorded_runs(model), Catch::Contains("that rise, row 2"));
    write(model / "validation-80.csv", "progress,iteration\n9,many\n");
    CHECK_THROWS_WITH(sim::recorded_runs(model), Catch::Contains("found \"many\""));
}

}  // namespace ukemi
