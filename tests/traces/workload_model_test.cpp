// workload_model_test.cpp — a workload that is drawn, fitted, and drawn again.
#include "traces/workload_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>

#include "base/input_error.hpp"
#include "tests/recorded.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

namespace {

namespace fs = std::filesystem;

// Twice as many bursts in the afternoon as in the night.
traces::WorkloadModel made_up_model() {
    traces::WorkloadModel model;
    model.name = "made_up";
    for (std::size_t hour = 0; hour < 24; ++hour) {
        model.bursts_per_h.push_back(hour >= 12 ? 4 : 2);
    }
    model.burst_jobs = {1, 1, 2, 6};
    model.gap_s = {1, 10, 20};
    model.sizes = {{1, 0.5}, {4, 0.3}, {8, 0.2}};
    model.repeats = 0.4;
    model.service_s = {{60, 600, 6000}, {100, 10'000}, {1000, 2000}, {}};
    return model;
}

fs::path written(const ScratchFolder& scratch, const std::string& text) {
    const fs::path file = scratch.path() / "model.json";
    std::ofstream(file) << text;
    return file;
}

std::string complaint_of(const ScratchFolder& scratch, std::string text, const std::string& what,
                         const std::string& by) {
    const std::size_t at = text.find(what);
    REQUIRE(at != std::string::npos);
    text.replace(at, what.size(), by);
    try {
        traces::read_workload_model(written(scratch, text));
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("workload model: what is fitted to its own draws is nearly it", "[traces]") {
    const traces::WorkloadModel model = made_up_model();
    const auto rows = traces::draw_workload(model, 7, {}, days(120), 1);
    REQUIRE(rows.size() > 5000);
    CHECK(std::ranges::is_sorted(rows, {}, &traces::WorkloadRow::arrival));
    const traces::WorkloadModel again = traces::fit_workload(rows, "again");
    const auto sum = [&](std::size_t from) {
        const auto begin = again.bursts_per_h.begin() + static_cast<std::ptrdiff_t>(from);
        return std::accumulate(begin, begin + 12, 0.0);
    };
    // A burst that begins within a minute of another is one with it: one in fifteen or thirty.
    CHECK(sum(0) == Approx(24).epsilon(0.1));
    CHECK(sum(12) == Approx(48).epsilon(0.15));
    REQUIRE(again.sizes.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(again.sizes[i].gpus == model.sizes[i].gpus);
        CHECK(again.sizes[i].share == Approx(model.sizes[i].share).margin(0.03));
    }
    CHECK(again.repeats == Approx(model.repeats).margin(0.06));
    CHECK(again.service_s[0][50] == Approx(600).epsilon(0.1));
    CHECK(again.service_s[2][50] == Approx(1414).epsilon(0.1));  // geometric mean of 1000 and 2000
    CHECK(again.service_s[3].empty());
}

TEST_CASE("workload model: draws go by the seed alone, a written model reads back equal",
          "[traces]") {
    const ScratchFolder scratch;
    const traces::WorkloadModel model = made_up_model();
    const traces::WorkloadModel read =
        traces::read_workload_model(written(scratch, traces::to_json(model)));
    CHECK(traces::to_json(read) == traces::to_json(model));
    const auto arrivals = [](const traces::WorkloadModel& of, std::uint64_t seed, double rate) {
        std::vector<std::int64_t> all;
        for (const auto& row : traces::draw_workload(of, seed, {}, days(5), rate)) {
            all.push_back(row.arrival.raw());
        }
        return all;
    };
    CHECK(arrivals(read, 3, 1) == arrivals(model, 3, 1));
    CHECK(arrivals(model, 4, 1) != arrivals(model, 3, 1));
    const auto once = static_cast<double>(arrivals(model, 3, 1).size());
    CHECK(static_cast<double>(arrivals(model, 3, 3).size()) == Approx(3 * once).epsilon(0.2));
}

// Four bursts an hour from ten until noon, one in every other hour; the record begins at 07:30.
TEST_CASE("workload model: hours are those of the file's clock", "[traces]") {
    const ScratchFolder scratch;
    std::string text = "timestamp,duration,num_gpus\n";
    for (int day = 10; day < 17; ++day) {
        for (int minute = day == 10 ? 450 : 0; minute < 1440; minute += 15) {
            const int hour = minute / 60;
            const bool busy = hour == 10 || hour == 11;
            if (!busy && minute % 60 != 30) continue;
            text += fmt::format("2017-10-{} {:02}:{:02}:00,600,1\n", day, hour, minute % 60);
        }
    }
    const fs::path file = scratch.file("stamps.csv", text);
    const auto rows = traces::read_workloads(std::span(&file, 1), traces::WorkloadZero::midnight);
    CHECK(rows.front().arrival == minutes(450));
    const traces::WorkloadModel model = traces::fit_workload(rows, "stamps");
    for (std::size_t hour = 0; hour < 24; ++hour) {
        CAPTURE(hour);
        const bool busy = hour == 10 || hour == 11;
        CHECK(model.bursts_per_h[hour] == Approx(busy ? 4 : 1).epsilon(0.1));
    }
    const auto drawn = traces::draw_workload(model, 1, {}, days(200), 1);
    const auto early = std::ranges::count_if(drawn, [](const traces::WorkloadRow& row) {
        const Duration at = nanoseconds(row.arrival.raw() % days(1).raw());
        return at >= hours(10) && at < hours(12);
    });
    CHECK(static_cast<double>(early) == Approx(200 * 8).epsilon(0.1));
}

TEST_CASE("workload model: a spoilt file is refused with its place", "[traces]") {
    const ScratchFolder scratch;
    const std::string good = traces::to_json(made_up_model());
    CHECK_THAT(complaint_of(scratch, good, "\"repeats\": 0.4", "\"repeats\": 4"),
               Catch::Contains("at /repeats: expected a number from 0 to 1"));
    CHECK_THAT(complaint_of(scratch, good, "\"name\"", "\"nam\""), Catch::Contains("\"nam\""));
    CHECK_THAT(complaint_of(scratch, good, "\"gpus\": 8", "\"gpus\": 16"),
               Catch::Contains("at /service_s: expected quantiles of jobs of 16 GPUs"));
    CHECK_THAT(complaint_of(scratch, good, "\"burst_jobs\": [", "\"burst_jobs\": [9, "),
               Catch::Contains("at /burst_jobs: expected numbers from the least to the most"));
}

TEST_CASE("workload model: recorded clusters, the last 30 % kept back", "[traces][recorded]") {
    const auto data = recorded_data("elasticflow_ms_itp/raw-traces");
    if (!data) {
        WARN("skipped: no recorded data: elasticflow_ms_itp/raw-traces");
        return;
    }
    // Bursts and hours are what the naive one lacks; how long jobs run moves from month to month.
    for (const char* cluster : {"cluster02", "cluster04", "cluster05", "cluster08", "cluster09"}) {
        CAPTURE(cluster);
        const fs::path file =
            *data / "elasticflow_ms_itp/raw-traces" / (std::string(cluster) + ".csv.gz");
        const auto rows = traces::read_workloads(std::span(&file, 1));
        const traces::WorkloadCheck check = traces::check_workload_fit(rows);
        CHECK(check.fitted_jobs + check.kept_jobs == rows.size());
        REQUIRE(check.distances.size() == 5);
        for (const std::size_t arrivals : {0U, 1U, 4U}) {
            CHECK(check.distances[arrivals].fitted < check.distances[arrivals].naive);
        }
        CHECK(check.distances[0].fitted < 0.25);
    }
}

}  // namespace ukemi
