// published_adaptation_bench.cpp — the published runs of an autoscaling engine (Or et al.,
// MLSys'20) beside the simulated ones: completion, machine time, and the search for the right size.
//
// The runs are scenarios/size/autoscaling_*.json, varied over where they start. Throughputs are
// inputs (the authors' static runs), from which completion follows once the last size is known:
// `from input`, beside the static run of that size, a guess without any simulation. How long a
// worker takes to start is `fitted`: within the range of their logs it was chosen so that
// CIFAR-10's changes come when they came. A search ends when the group has its last size. Beside
// them, the same job under rules that look at utilisation (autoscaling_by_utilisation.json), where
// what counts as that is an input, too. Needs the reference rows beside the checkout. Usage:
// bench_published_adaptation [all] [--csv FILE]   (all: every change of every run)
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/input_error.hpp"
#include "bench/published_rows.hpp"
#include "scenarios/experiment/experiment.hpp"
#include "scenarios/reader/variants.hpp"

namespace {

using namespace ukemi;
using namespace ukemi::policies;
using namespace ukemi::records;
using namespace ukemi::scenarios;
using namespace published;

struct Change {
    double at_s = 0;
    int workers = 0;
};

struct PublishedRun {
    int start = 0;
    double static_s = 0;
    double autoscaling_s = 0;
    double static_gpu_s = 0;
    double autoscaling_gpu_s = 0;
    std::vector<Change> changes;
};

// What a simulated run did. Changes count from the end of the second step, as the script of the
// published figure has them, which begins at the first logged step; all else from the first step.
struct Simulated {
    std::vector<Change> changes;
    double completion_s = 0;
    double gpu_s = 0;
};

struct Workload {
    std::string name;
    std::string scenario;
    std::string rows;          // as or_jct.csv calls it
    std::string trajectories;  // as or_trajectories.csv does
    double whole_job;          // in runs as long as these; training to the end takes so many
    double start_up_s;
};

std::vector<std::vector<std::string>> rows_of(const std::string& name) {
    const auto file = shared("../reference/runtime") / name;
    std::ifstream stream(file);
    if (!stream) throw InputError(file.string(), "", "cannot be read: the rows to compare with");
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(stream, line);) {
        if (line.starts_with('#')) continue;
        std::vector<std::string>& row = rows.emplace_back();
        std::istringstream fields(line);
        for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    }
    return rows;
}

// The authors' static run of the size with which a simulated run ended, or of the nearest one.
const PublishedRun& static_run_of(const std::vector<PublishedRun>& runs, const Simulated& did) {
    const int last = did.changes.back().workers;
    return *std::ranges::min_element(
        runs, {}, [&](const PublishedRun& run) { return std::abs(run.start - last); });
}

// "0:4;43.4:8;58.3:4", perhaps in quotes.
std::vector<Change> changes_of(std::string text) {
    std::erase(text, '"');
    std::vector<Change> changes;
    std::istringstream pairs(text);
    for (std::string pair; std::getline(pairs, pair, ';');) {
        const std::size_t colon = pair.find(':');
        changes.push_back({std::stod(pair.substr(0, colon)), std::stoi(pair.substr(colon + 1))});
    }
    return changes;
}

std::vector<PublishedRun> published_runs(const Workload& workload) {
    std::vector<PublishedRun> runs;
    for (const auto& row : rows_of("or_jct.csv")) {
        if (row.at(0) != workload.rows) continue;
        runs.push_back({std::stoi(row.at(1)),
                        std::stod(row.at(2)),
                        std::stod(row.at(3)),
                        std::stod(row.at(4)),
                        std::stod(row.at(5)),
                        {}});
        for (const auto& other : rows_of("or_trajectories.csv")) {
            const bool same = other.at(0) == workload.trajectories && other.at(1) == row.at(1);
            if (same) runs.back().changes = changes_of(other.at(2));
        }
    }
    return runs;
}

// By the list of that number in the scenario.
Simulated simulated(const std::string& name, int start, std::size_t list = 0) {
    const auto file = std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/size" / (name + ".json");
    const std::vector<ConfigOverride> overrides{{"/cluster/count_start", fmt::format("{}", start)}};
    const Scenario scenario = read_scenario(file, overrides);
    const NamedMarket market = make_market(scenario, scenario.seed);
    RunOptions options;
    options.timeline = true;
    const RunResult result =
        run_one(scenario, market, scenario.policies.at(list), scenario.seed, options).result;
    Simulated did;
    double began = -1;
    double counted_from = 0;
    int steps = 0;
    double last = 0;
    std::int32_t workers = 0;
    for (const TimelineRow& row : result.timeline) {
        const double now = to_seconds(row.at.since_start());
        if (row.phase == JobPhase::running && began < 0) began = counted_from = now;
        if (began >= 0) did.gpu_s += workers * (now - last);
        if (began >= 0 && now > began && now > last && ++steps == 2) counted_from = now;
        last = now;
        workers = row.workers;
        const bool known = !did.changes.empty() && did.changes.back().workers == row.workers;
        if (row.phase == JobPhase::running && !known) {
            did.changes.push_back({std::max(0.0, now - counted_from), row.workers});
        }
    }
    did.completion_s = to_seconds(result.duration) - began;
    return did;
}

std::string sizes_of(const std::vector<Change>& changes) {
    std::string text;
    for (const Change& one : changes) {
        text += fmt::format("{}{}", text.empty() ? "" : " ", one.workers);
    }
    return text;
}

double mean(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
}

// Means and the largest, as the paper's summary has them.
void add_summary(std::vector<Row>& rows, const std::string& what, const std::string& role) {
    std::vector<double> theirs;
    std::vector<double> ours;
    std::vector<double> guessed;
    for (const Row& row : rows) {
        theirs.push_back(row.published);
        ours.push_back(row.simulated);
        if (row.naive) guessed.push_back(*row.naive);
    }
    Row means{fmt::format("{}: mean", what), mean(theirs), mean(ours), role};
    Row most{fmt::format("{}: largest", what), std::ranges::max(theirs), std::ranges::max(ours),
             role};
    if (guessed.size() == rows.size()) {
        means.naive = mean(guessed);
        most.naive = std::ranges::max(guessed);
    }
    rows.push_back(means);
    rows.push_back(most);
}

// When each size was reached; says for how long a worker would have had to start for that.
std::string add_changes(std::vector<Row>& rows, const std::string& name, const PublishedRun& run,
                        const Simulated& did, double start_up_s) {
    std::string start_ups;
    for (std::size_t i = 1; i < std::min(run.changes.size(), did.changes.size()); ++i) {
        const int from = run.changes[i - 1].workers;
        const int to = run.changes[i].workers;
        const std::string step = fmt::format("{}: {} to {}", name, from, to);
        rows.push_back({step, run.changes[i].at_s, did.changes[i].at_s, "fitted"});
        const double they_took = run.changes[i].at_s - run.changes[i - 1].at_s;
        const double we_took = did.changes[i].at_s - did.changes[i - 1].at_s;
        if (to <= from || to != did.changes[i].workers) continue;
        start_ups += fmt::format("  {:<34}{:>8.1f} s\n", step, start_up_s + they_took - we_took);
    }
    return start_ups;
}

void compare(const Workload& workload, bool all, Tables& tables) {
    std::vector<Row> completion;
    std::vector<Row> machine_time;
    std::vector<Row> completion_share;
    std::vector<Row> machine_time_share;
    std::vector<Row> search;
    std::vector<Row> share;
    std::vector<Row> whole;
    std::vector<Row> changes;
    fmt::print("\n{}: sizes\n", workload.name);
    std::string start_ups;
    const std::vector<PublishedRun> runs = published_runs(workload);
    for (const PublishedRun& run : runs) {
        const Simulated did = simulated(workload.scenario, run.start);
        const PublishedRun& end = static_run_of(runs, did);
        const std::string name = fmt::format("from {} workers", run.start);
        const bool same = sizes_of(did.changes) == sizes_of(run.changes);
        fmt::print("  {:<17}{:<28}{}\n", name, sizes_of(run.changes),
                   same ? "the same here" : fmt::format("here {}", sizes_of(did.changes)));
        completion.push_back(
            {name, run.autoscaling_s, did.completion_s, "from input", end.static_s});
        machine_time.push_back(
            {name, run.autoscaling_gpu_s, did.gpu_s, "from input", end.static_gpu_s});
        completion_share.push_back({name, 100 * run.autoscaling_s / run.static_s,
                                    100 * did.completion_s / run.static_s, "from input",
                                    100 * end.static_s / run.static_s});
        machine_time_share.push_back({name, 100 * run.autoscaling_gpu_s / run.static_gpu_s,
                                      100 * did.gpu_s / run.static_gpu_s, "from input",
                                      100 * end.static_gpu_s / run.static_gpu_s});
        const double theirs = run.changes.back().at_s;
        const double ours = did.changes.back().at_s;
        search.push_back({name, theirs, ours, "fitted"});
        share.push_back(
            {name, 100 * theirs / run.autoscaling_s, 100 * ours / did.completion_s, "fitted"});
        whole.push_back({name, 100 * theirs / (run.autoscaling_s * workload.whole_job),
                         100 * ours / (did.completion_s * workload.whole_job), "fitted"});
        start_ups += add_changes(changes, name, run, did, workload.start_up_s);
    }
    add_summary(search, "search", "fitted");
    add_summary(share, "share", "fitted");
    add_summary(whole, "share", "fitted");
    add_summary(completion_share, "share", "from input");
    add_summary(machine_time_share, "share", "from input");
    const auto title = [&](std::string_view what) {
        return fmt::format("{}: {}", workload.name, what);
    };
    const auto table = [&](std::string_view what) {
        return fmt::format("{} {}", workload.scenario, what);
    };
    const std::string naive = "the authors' static run of the size with which the run ends";
    tables.add(title("completion, s"), table("completion_s"), completion, true, naive);
    tables.add(title("machine time, s"), table("machine_time_s"), machine_time, true, naive);
    tables.add(title("completion as a share of the static run's, %"), table("completion_share"),
               completion_share, true, naive);
    tables.add(title("machine time as a share of the static run's, %"), table("machine_time_share"),
               machine_time_share, true, naive);
    tables.add(title("end of the search, s"), table("search_s"), search);
    tables.add(title("search as a share of the run, %"), table("search_share"), share);
    if (workload.whole_job > 1) {
        tables.add(title("search as a share of a whole training (90 epochs at the run's pace), %"),
                   table("search_share_whole"), whole);
    }
    tables.add(title("when each size was reached, s"), table("changes_s"), changes, all);
    fmt::print("\n{}\n{}",
               title(fmt::format("start-up that a change would have to have had, to "
                                 "come when it came (here {} s)",
                                 workload.start_up_s)),
               start_ups);
}

// Rules of resource managers, each beside the static run of the size at which it should end: all
// machines that there are, or those with which it began.
void compare_utilisation(const Workload& workload, Tables& tables) {
    const std::string scenario = "autoscaling_by_utilisation";
    const std::vector<PublishedRun> runs = published_runs(workload);
    std::vector<Row> completion;
    std::vector<Row> machine_time;
    fmt::print("\n{} by utilisation: sizes\n", workload.name);
    for (const PublishedRun& run : runs) {
        const auto add = [&](std::string_view rule, std::size_t list, const PublishedRun& end) {
            const Simulated did = simulated(scenario, run.start, list);
            const std::string name = fmt::format("{}, from {}", rule, run.start);
            fmt::print("  {:<42}{}\n", name, sizes_of(did.changes));
            completion.push_back({name, end.static_s, did.completion_s, "input"});
            machine_time.push_back({name, end.static_gpu_s, did.gpu_s, "input"});
        };
        add("more while above 80 %", 1, runs.back());
        add("fewer when idle", 2, run);
    }
    const auto title = [&](std::string_view what) {
        return fmt::format(
            "{} by utilisation: {}, beside the static run of 24 workers, or of those "
            "at the start",
            workload.name, what);
    };
    tables.add(title("completion, s"), scenario + " completion_s", completion);
    tables.add(title("machine time, s"), scenario + " machine_time_s", machine_time);
}

}  // namespace

int main(int argc, char** argv) {
    const Options options = read_options(argc, argv);
    try {
        Tables tables;
        const Workload cifar{"CIFAR-10, ResNet-56, 200 epochs",
                             "autoscaling_cifar10",
                             "cifar10_resnet56_200ep",
                             "cifar10",
                             1,
                             36};
        compare(cifar, options.all, tables);
        compare({"ImageNet, ResNet-50, 5 epochs", "autoscaling_imagenet", "imagenet_resnet50_5ep",
                 "imagenet", 90.0 / 5, 48},
                options.all, tables);
        compare_utilisation(cifar, tables);
        if (options.csv) tables.write_csv(*options.csv);
    } catch (const InputError& error) {
        fmt::print(stderr, "{}\n", error.what());
        return 1;
    }
    return 0;
}
