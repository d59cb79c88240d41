// recorded_types_test.cpp — Sia's simulator (Jayaram Subramanya et al., SOSP'23) on machines of
// three types, under Sia and under Gavel: with the solvers' recorded answers every placement,
// completion time and restart; with our solvers the objectives of all recorded programmes, and how
// far another optimum carries the means.
//
// Step times are look-ups of that simulator; the batches that Sia's jobs had are recorded, since
// they follow from a fit to what each job had seen.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "analysis/schedule_results.hpp"
#include "base/read_file.hpp"
#include "schedulers/linear_programme.hpp"
#include "schedulers/multiple_choice.hpp"
#include "tests/recorded.hpp"
#include "tests/sim/jobs/recorded_run.hpp"
#include "traces/csv_scanner.hpp"
#include "traces/workload_file.hpp"

namespace ukemi {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

struct PeerRun {
    fs::path folder;  // look-ups, answers and what came out
    fs::path workload;
};

std::optional<PeerRun> recorded_run(const char* name, const char* workload) {
    const fs::path folder = *peer_outputs() / "cluster/sia" / name;
    const auto data = recorded_data((fs::path("sia/workloads") / workload).string());
    if (!data || !fs::exists(folder)) {
        WARN("skipped: no recorded data: sia/workloads, reference/peers/cluster/sia");
        return std::nullopt;
    }
    return PeerRun{folder, *data / "sia/workloads" / workload};
}

std::optional<PeerRun> philly() { return recorded_run("sia-philly1", "philly/workload-1.csv"); }
std::optional<PeerRun> saturn() { return recorded_run("gavel-saturn7", "saturn/workload-7.csv"); }

json three_types(const PeerRun& recorded, const char* round, const json& scheduler) {
    const auto group = [](const char* type, int machines, int gpus) {
        return json{{"gpu_type", type}, {"machines", machines}, {"gpus_per_machine", gpus}};
    };
    return {{"name", "types"},
            {"cluster", {group("aws", 6, 4), group("dgx-ext", 2, 8), group("rtx", 3, 8)}},
            {"round", round},
            {"jobs",
             {{"workload", recorded.workload.string()},
              {"tables", recorded.folder.string()},
              {"batches", (recorded.folder / "batches.csv.gz").string()}}},
            {"schedulers", json::array({scheduler})}};
}

// With the scenario that the run points into.
struct TypesRun {
    std::vector<scenarios::ScheduleScenario> scenarios;
    analysis::ScheduledRun run;
};
TypesRun run_of(const json& scenario) {
    TypesRun done;
    done.scenarios.push_back(scenarios::schedule_scenario_from_text(scenario.dump(), "types.json"));
    done.run = std::move(analysis::run_schedules(done.scenarios).front());
    return done;
}

TypesRun philly_run(const PeerRun& recorded) {
    return run_of(
        three_types(recorded, "60 s",
                    {{"name", "sia"}, {"solutions", (recorded.folder / "milp.txt.gz").string()}}));
}
TypesRun saturn_run(const PeerRun& recorded) {
    return run_of(three_types(
        recorded, "360 s",
        {{"name", "gavel_max_sum"}, {"solutions", (recorded.folder / "lp.csv.gz").string()}}));
}

// When a job got which GPUs, or none: "1080 cifar10-2 aws p444".
std::multiset<std::string> changes_in(const analysis::ScheduledRun& run) {
    std::multiset<std::string> changes;
    std::map<std::pair<std::size_t, std::int64_t>, bool> begins;
    for (const sim::HeldSpan& span : run.outcome.spans) begins[{span.job, span.begin.raw()}] = true;
    const auto text = [&](Instant at, std::size_t job, const std::string& what) {
        return std::to_string(at.raw() / 1'000'000'000) + " " + run.jobs[job].job->name + " " +
               what;
    };
    for (const sim::HeldSpan& span : run.outcome.spans) {
        std::string placement = " p";
        for (const auto& one : span.held.machines) placement += std::to_string(one.gpus);
        const auto group = static_cast<std::size_t>(span.held.share.group);
        changes.insert(text(span.begin, span.job, run.cluster->groups[group].gpu_type + placement));
        const bool goes_on = span.end == run.outcome.jobs[span.job].completion ||
                             begins.contains({span.job, span.end.raw()});
        if (!goes_on) changes.insert(text(span.end, span.job, " "));
    }
    return changes;
}

std::multiset<std::string> recorded_changes(const fs::path& file) {
    const std::string text = read_file(file);
    traces::CsvScanner csv(text, file.string());
    csv.read_header();
    std::multiset<std::string> changes;
    const auto field = [&](const char* name) { return std::string(csv.field(csv.column(name))); };
    while (csv.next_row()) {
        changes.insert(field("time_s") + " " + field("job") + " " + field("gpu_type") + " " +
                       field("placement"));
    }
    return changes;
}

// A round's programme as it was recorded, and the least cost that its solver found.
struct RecordedProgramme {
    double objective = 0;
    std::vector<schedulers::JobChoice> jobs;
    std::vector<std::optional<std::size_t>> chosen;
};

// Which GPUs each of the 19 configurations takes: aws, then dgx-ext, then rtx.
std::vector<schedulers::ChoiceOption> recorded_configurations() {
    std::vector<schedulers::ChoiceOption> all;
    for (const std::int32_t gpus : {1, 2, 4, 8, 12, 16, 20, 24}) all.push_back({0, gpus, 0});
    for (const std::int32_t gpus : {1, 2, 4, 8, 16}) all.push_back({1, gpus, 0});
    for (const std::int32_t gpus : {1, 2, 4, 8, 16, 24}) all.push_back({2, gpus, 0});
    return all;
}

std::vector<RecordedProgramme> recorded_programmes(const fs::path& file) {
    const std::vector<schedulers::ChoiceOption> configurations = recorded_configurations();
    std::istringstream text(read_file(file));
    std::vector<RecordedProgramme> all;
    for (std::string line; std::getline(text, line);) {
        std::istringstream fields(line);
        std::string name;
        if (line.starts_with("#")) continue;
        fields >> name;
        if (name == "R") {
            std::int64_t time_s = 0;
            fields >> time_s >> all.emplace_back().objective;
            continue;
        }
        int chosen = 0;
        int previous = 0;
        int locked = 0;
        double factor = 0;
        fields >> chosen >> previous >> locked >> factor;
        schedulers::JobChoice& job = all.back().jobs.emplace_back();
        all.back().chosen.emplace_back();
        if (locked == 0) job.cost_of_none = 110;
        for (int i = 0; i < 19; ++i) {
            double weight = 0;
            fields >> weight;
            if (locked != 0 && i != previous) continue;
            if (i == chosen) all.back().chosen.back() = job.options.size();
            schedulers::ChoiceOption option = configurations[static_cast<std::size_t>(i)];
            option.cost = round_nearest(weight * 100);
            job.options.push_back(option);
        }
        REQUIRE(fields);
    }
    return all;
}

}  // namespace

TEST_CASE("recorded types: our solver finds the least cost of all of Sia's integer programmes",
          "[jobs][peers]") {
    const auto recorded = philly();
    if (!recorded) return;
    const auto programmes = recorded_programmes(recorded->folder / "milp.txt.gz");
    REQUIRE(programmes.size() == 892);
    std::size_t others = 0;
    for (const RecordedProgramme& one : programmes) {
        const auto found = schedulers::cheapest_choices({24, 16, 24}, one.jobs);
        REQUIRE(found);
        CHECK(static_cast<double>(found->cost) / 100 == Approx(one.objective).epsilon(1e-6));
        others += found->chosen != one.chosen ? 1 : 0;
    }
    INFO("another optimum in " << others);
    CHECK(others < 150);
}

TEST_CASE("recorded types: our solver finds the largest sum of all of Gavel's linear programmes",
          "[jobs][peers]") {
    const auto recorded = saturn();
    if (!recorded) return;
    const fs::path file = recorded->folder / "lp.csv.gz";
    const std::string text = read_file(file);
    traces::CsvScanner csv(text, file.string());
    csv.read_header();
    std::map<std::string, double> gpus;
    for (const traces::WorkloadRow& row : traces::read_workloads(std::array{recorded->workload})) {
        gpus[row.name] = row.gpus;
    }
    struct Row {
        double gpus = 0;
        std::array<double, 3> x{};
        std::array<double, 3> pace{};
    };
    std::map<int, std::vector<Row>> rounds;
    const auto number = [&](const std::string& name) {
        return std::stod(std::string(csv.field(csv.column(name))));
    };
    constexpr std::array types = {"aws", "dgx-ext", "rtx"};
    while (csv.next_row()) {
        Row& row = rounds[static_cast<int>(number("time_s"))].emplace_back();
        row.gpus = gpus.at(std::string(csv.field(csv.column("job"))));
        for (std::size_t i = 0; i < 3; ++i) {
            row.x[i] = number(std::string("x_") + types[i]);
            row.pace[i] = number(std::string("iters_per_s_") + types[i]);
        }
    }
    REQUIRE(rounds.size() == 272);
    for (const auto& [time_s, rows] : rounds) {
        CAPTURE(time_s);
        schedulers::LinearProgramme programme(3 * rows.size());
        std::array<std::vector<std::pair<std::size_t, double>>, 3> used;
        double recorded_sum = 0;
        for (std::size_t job = 0; job < rows.size(); ++job) {
            std::vector<std::pair<std::size_t, double>> share;
            for (std::size_t i = 0; i < 3; ++i) {
                programme.maximise(3 * job + i, rows[job].pace[i]);
                share.emplace_back(3 * job + i, 1);
                used[i].emplace_back(3 * job + i, rows[job].gpus);
                recorded_sum += rows[job].x[i] * rows[job].pace[i];
            }
            programme.at_most(share, 1);
        }
        constexpr std::array gpus_of_type = {24.0, 16.0, 24.0};
        for (std::size_t i = 0; i < 3; ++i) programme.at_most(used[i], gpus_of_type[i]);
        const auto x = programme.solve();
        REQUIRE(x);
        double sum = 0;
        for (std::size_t i = 0; i < x->size(); ++i) sum += (*x)[i] * rows[i / 3].pace[i % 3];
        CHECK(sum == Approx(recorded_sum).epsilon(1e-5));  // recorded x have five decimals
    }
}

TEST_CASE("recorded types: Sia on philly-1 with the solver's answers, every placement and second",
          "[jobs][peers]") {
    const auto recorded = philly();
    if (!recorded) return;
    const TypesRun done = philly_run(*recorded);
    check_recorded_run(done.run, json::parse(read_file(recorded->folder / "expected.json")));
    const auto expected = recorded_changes(recorded->folder / "allocations.csv.gz");
    CHECK(expected.size() == 1421);
    CHECK(changes_in(done.run) == expected);
}

TEST_CASE("recorded types: Gavel on saturn-7 with the solver's answers, every placement and second",
          "[jobs][peers]") {
    const auto recorded = saturn();
    if (!recorded) return;
    const TypesRun done = saturn_run(*recorded);
    check_recorded_run(done.run, json::parse(read_file(recorded->folder / "expected.json")));
    const auto expected = recorded_changes(recorded->folder / "allocations.csv.gz");
    CHECK(expected.size() == 829);
    CHECK(changes_in(done.run) == expected);
}

// Our solver, our forecasts and our interpolation: nothing recorded but what was measured. Sia's
// own forecasts are fits to what a job has seen; ours know the tables, so that Sia does better
// here.
TEST_CASE("recorded types: with our own solvers means stay near the recorded ones",
          "[jobs][peers]") {
    const auto sia = philly();
    const auto gavel = saturn();
    const auto data = recorded_data("sia/traces");
    if (!sia || !gavel || !data) return;
    const auto own = [&](const PeerRun& recorded, const char* round, const char* name) {
        json scenario = three_types(recorded, round, {{"name", name}});
        json& jobs = scenario["jobs"];
        jobs.erase("batches");
        jobs["interpolate"] = true;
        jobs["measured"] = {{"aws", (*data / "pollux/traces").string()},
                            {"dgx-ext", (*data / "sia/traces").string()},
                            {"rtx", (*data / "sia/traces").string()}};
        const double mean_s = run_of(scenario).run.completion_s.mean;
        const json expected = json::parse(read_file(recorded.folder / "expected.json"));
        return mean_s / expected["avg_jct"].get<double>() - 1;
    };
    const double sia_apart = own(*sia, "60 s", "sia");
    const double gavel_apart = own(*gavel, "360 s", "gavel_max_sum");
    CAPTURE(sia_apart, gavel_apart);
    CHECK(std::abs(sia_apart) < 0.12);
    CHECK(std::abs(gavel_apart) < 0.073);  // what another solver alone moved it by
}

}  // namespace ukemi
