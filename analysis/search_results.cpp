// search_results.cpp — runs searches, and sums up what came out.
#include "analysis/search_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/csv_writer.hpp"
#include "base/parallel_for.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_scan.hpp"
#include "records/varied_columns.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

using nlohmann::json;

namespace {

std::vector<SearchedRun> searches_of(const scenarios::SearchScenario& scenario, std::uint64_t seed,
                                     bool full) {
    sim::LearnedTrials learned(scenario.space, scenario.make_trial, scenario.units, seed);
    std::vector<SearchedRun> runs;
    for (const scenarios::NamedSearcher& named : scenario.searchers) {
        SearchedRun& run = runs.emplace_back(searched_run(scenario, named, learned, nullptr));
        if (full) run.full = sim::compared_with_full(run.outcome, learned, named.entry->on_grid);
    }
    return runs;
}

json null_or(bool known, const json& value) { return known ? value : json(); }

// A column of the table of searches: the same in the CSV and in JSON.
struct SearchColumn {
    const char* name;
    json (*value)(const SearchedRun& run);
};
constexpr std::array search_columns = {
    SearchColumn{"trials", [](const SearchedRun& run) { return json(run.outcome.trials.size()); }},
    SearchColumn{"pieces", [](const SearchedRun& run) { return json(run.outcome.pieces.size()); }},
    SearchColumn{"restarts", [](const SearchedRun& run) { return json(run.outcome.restarts); }},
    SearchColumn{"winner", [](const SearchedRun& run) { return json(run.outcome.winner); }},
    SearchColumn{"units", [](const SearchedRun& run) { return json(run.winner().units); }},
    SearchColumn{"metric", [](const SearchedRun& run) { return json(run.winner().metric); }},
    SearchColumn{"makespan_s", [](const SearchedRun& run) { return json(run.makespan_s()); }},
    SearchColumn{"gpu_h", [](const SearchedRun& run) { return json(run.outcome.gpu_s / 3600); }},
    SearchColumn{"full_gpu_h",
                 [](const SearchedRun& run) { return json(run.outcome.full_gpu_s / 3600); }},
    SearchColumn{"gpu_share", [](const SearchedRun& run) { return json(run.gpu_share()); }},
    SearchColumn{"full_winner",
                 [](const SearchedRun& run) {
                     return null_or(run.full.has_value(), run.full ? run.full->winner : 0);
                 }},
    SearchColumn{"full_metric",
                 [](const SearchedRun& run) {
                     return null_or(run.full.has_value(), run.full ? run.full->metric : 0.0);
                 }},
    SearchColumn{"same_winner",
                 [](const SearchedRun& run) {
                     return null_or(run.full.has_value(), run.full && run.full->same_winner);
                 }},
    SearchColumn{"as_good",
                 [](const SearchedRun& run) {
                     return null_or(run.full.has_value(), run.full && run.full->as_good);
                 }},
};

void add_value(CsvWriter& csv, const json& value) {
    if (value.is_boolean()) {
        csv.add(value.get<bool>() ? "yes" : "no");
    } else if (value.is_number_integer()) {
        csv.add(value.get<std::int64_t>());
    } else if (value.is_null()) {
        csv.add("");
    } else {
        csv.add(value.get<double>());
    }
}

// Columns that all tables begin with, and one for each key of the space.
std::vector<std::string> columns_of(std::span<const SearchedRun> runs,
                                    const records::VariedColumns& varied,
                                    std::vector<std::string> after, bool with_space) {
    std::vector<std::string> columns;
    varied.add_names(columns);
    columns.insert(columns.end(), {"seed", "searcher"});
    columns.insert(columns.end(), after.begin(), after.end());
    if (!with_space) return columns;
    for (const sim::SearchedKey& key : runs.front().scenario->space) {
        columns.push_back(records::varied_column_name(key.pointer, ""));
    }
    return columns;
}

void add_head(CsvWriter& csv, const records::VariedColumns& varied, const SearchedRun& run) {
    varied.add_fields(csv, run.varied);
    csv.add(run.seed).add(run.searcher);
}

std::string searches_csv(std::span<const SearchedRun> runs) {
    const records::VariedColumns varied{runs};
    std::vector<std::string> names;
    for (const SearchColumn& column : search_columns) names.emplace_back(column.name);
    CsvWriter csv(columns_of(runs, varied, std::move(names), true));
    for (const SearchedRun& run : runs) {
        add_head(csv, varied, run);
        for (const SearchColumn& column : search_columns) add_value(csv, column.value(run));
        for (const std::string& value : run.winner().settings) csv.add(value);
        csv.end_row();
    }
    return csv.text();
}

std::string pieces_csv(std::span<const SearchedRun> runs) {
    const records::VariedColumns varied{runs};
    CsvWriter csv(columns_of(runs, varied,
                             {"trial", "copies", "from_units", "until_units", "came_s", "end_s",
                              "starts", "gpu_s", "metric"},
                             false));
    for (const SearchedRun& run : runs) {
        for (std::size_t i = 0; i < run.outcome.pieces.size(); ++i) {
            const sim::TrainedPiece& piece = run.outcome.pieces[i];
            const sim::JobOutcome& job = run.outcome.schedule.jobs[i];
            add_head(csv, varied, run);
            csv.add(piece.asked.trial);
            csv.add(piece.asked.copies ? fmt::format("{}", *piece.asked.copies) : "");
            csv.add(piece.from).add(piece.asked.until).add(to_seconds(piece.came.since_start()));
            csv.add(job.is_complete() ? fmt::format("{}", to_seconds(job.completion.since_start()))
                                      : "");
            csv.add(job.starts).add(job.gpu_s).add(piece.metric).end_row();
        }
    }
    return csv.text();
}

// Runs of one variant and searcher, over the seeds.
struct SearchMeans {
    std::string name;
    std::vector<const SearchedRun*> runs;
    double mean(double (*value)(const SearchedRun&)) const {
        double sum = 0;
        for (const SearchedRun* run : runs) sum += value(*run);
        return sum / static_cast<double>(runs.size());
    }
    std::size_t count(bool (*value)(const SearchedRun&)) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(runs, [&](const SearchedRun* run) { return value(*run); }));
    }
};

double metric_of(const SearchedRun& run) { return run.winner().metric; }
double makespan_h_of(const SearchedRun& run) { return run.makespan_s() / 3600; }
double gpu_h_of(const SearchedRun& run) { return run.outcome.gpu_s / 3600; }
double share_of(const SearchedRun& run) { return run.gpu_share(); }
bool is_same_winner(const SearchedRun& run) { return run.full && run.full->same_winner; }
bool is_as_good(const SearchedRun& run) { return run.full && run.full->as_good; }

std::vector<SearchMeans> means_of(std::span<const SearchedRun> runs) {
    std::vector<SearchMeans> all;
    for (const SearchedRun& run : runs) {
        std::string name = run.searcher;
        if (!run.varied.empty()) name += ", " + one_line(records::variant_label(run.varied));
        auto found = std::ranges::find(all, name, &SearchMeans::name);
        if (found == all.end()) found = all.insert(all.end(), {name, {}});
        found->runs.push_back(&run);
    }
    return all;
}

std::string settings_in_words(const SearchedRun& run) {
    std::string words;
    for (std::size_t i = 0; i < run.scenario->space.size(); ++i) {
        words += fmt::format("{}{}={}", words.empty() ? "" : ", ", run.scenario->space[i].pointer,
                             run.winner().settings[i]);
    }
    return one_line(words);
}

std::string row_of(const SearchMeans& means) {
    const SearchedRun& first = *means.runs.front();
    std::string row =
        fmt::format("{:<20}{:>7}{:>8}{:>10.4f}{:>14.2f}{:>9.2f}{:>8.1f}", first.searcher,
                    first.outcome.trials.size(), first.outcome.pieces.size(), means.mean(metric_of),
                    means.mean(makespan_h_of), means.mean(gpu_h_of), 100 * means.mean(share_of));
    if (first.full) {
        row += fmt::format("{:>8} of {}{:>8}", means.count(is_same_winner), means.runs.size(),
                           means.count(is_as_good));
    }
    row += '\n';
    if (means.name != first.searcher) {
        row += fmt::format("  {}\n", means.name.substr(first.searcher.size() + 2));
    }
    if (means.runs.size() == 1) {
        row += fmt::format("  trial {}: {}\n", first.outcome.winner, settings_in_words(first));
    }
    return row;
}

double metric_in(const traces::CsvScanner& csv, std::size_t column) {
    const auto millionths = parse_decimal(csv.field(column), 6, DecimalGrammar::json);
    if (!millionths) csv.fail(column, "a number");
    return static_cast<double>(*millionths) / 1e6;
}

struct FoundOverTime {
    std::string name;
    plots::PlotPoints best;  // hours, and the best metric that anybody had reached
};

}  // namespace

SearchedRun searched_run(const scenarios::SearchScenario& scenario,
                         const scenarios::NamedSearcher& named, sim::LearnedTrials& learned,
                         sim::TrialWorld* world) {
    SearchedRun run;
    run.varied = scenario.varied;
    run.scenario = &scenario;
    run.seed = learned.seed();
    run.searcher = named.entry->name;
    const bool grid = named.entry->on_grid;
    const sim::SearchTerms terms{grid ? sim::grid_size(scenario.space) : scenario.trials,
                                 scenario.units, run.seed};
    sim::SearchCluster where = scenario.where;
    where.world = world;
    run.outcome =
        sim::run_search(where, learned, *named.make(), terms, grid, *scenario.make_scheduler());
    return run;
}

std::vector<SearchedRun> run_searches(std::span<const scenarios::SearchScenario> variants,
                                      std::span<const std::uint64_t> seeds, bool full) {
    const std::size_t count = variants.size() * seeds.size();
    std::vector<std::vector<SearchedRun>> results(count);
    std::vector<std::exception_ptr> failures(count);
    const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
    parallel_for(count, threads, [&](std::size_t i) {
        try {
            results[i] = searches_of(variants[i / seeds.size()], seeds[i % seeds.size()], full);
        } catch (...) {
            failures[i] = std::current_exception();
        }
    });
    std::vector<SearchedRun> runs;
    for (std::size_t i = 0; i < count; ++i) {
        if (failures[i]) std::rethrow_exception(failures[i]);
        for (SearchedRun& run : results[i]) runs.push_back(std::move(run));
    }
    return runs;
}

std::string searches_table(const scenarios::SearchScenario& first,
                           std::span<const SearchedRun> runs) {
    const std::vector<SearchMeans> all = means_of(runs);
    const std::size_t seeds = all.front().runs.size();
    const bool full = runs.front().full.has_value();
    std::string text = fmt::format(
        "{}: {} key{}, {} units a training, on {} GPUs{}\n\n", one_line(first.name),
        first.space.size(), first.space.size() == 1 ? "" : "s", first.units,
        first.where.cluster.gpus(), seeds > 1 ? fmt::format("; means over {} seeds", seeds) : "");
    text += fmt::format(
        "{:<20}{:>7}{:>8}{:>10}{:>14}{:>9}{:>8}{}\n", "searcher", "trials", "pieces", "metric",
        "makespan (h)", "GPU h", "GPU %",
        full ? fmt::format("{:>{}}{:>8}", "winner", 12 + (seeds > 9 ? 1 : 0), "as good") : "");
    for (const SearchMeans& means : all) text += row_of(means);
    text +=
        "\nmetric: of the trial that won; GPU %: of what training all these trials in full takes";
    if (full) text += ";\nwinner: the one that full training of all has, or (as good) one no worse";
    return text + "\n";
}

std::string searched_trials_csv(std::span<const SearchedRun> runs) {
    const records::VariedColumns varied{runs};
    CsvWriter csv(columns_of(runs, varied, {"trial", "units", "metric", "gpu_s"}, true));
    for (const SearchedRun& run : runs) {
        for (std::size_t i = 0; i < run.outcome.trials.size(); ++i) {
            const sim::SearchedTrial& trial = run.outcome.trials[i];
            add_head(csv, varied, run);
            csv.add(i).add(trial.units).add(trial.metric).add(trial.gpu_s);
            for (const std::string& value : trial.settings) csv.add(value);
            csv.end_row();
        }
    }
    return csv.text();
}

std::string searches_json(const scenarios::SearchScenario& first,
                          std::span<const SearchedRun> runs) {
    json document = {{"scenario", first.name},
                     {"gpus", first.where.cluster.gpus()},
                     {"means", json::array()},
                     {"runs", json::array()}};
    for (const SearchMeans& means : means_of(runs)) {
        json one = {{"searcher", means.name},          {"searches", means.runs.size()},
                    {"metric", means.mean(metric_of)}, {"makespan_h", means.mean(makespan_h_of)},
                    {"gpu_h", means.mean(gpu_h_of)},   {"gpu_share", means.mean(share_of)}};
        if (means.runs.front()->full) {
            one["same_winner"] = means.count(is_same_winner);
            one["as_good"] = means.count(is_as_good);
        }
        document["means"].push_back(std::move(one));
    }
    for (const SearchedRun& run : runs) {
        json one = {{"searcher", run.searcher}, {"seed", run.seed}};
        for (const records::VariedValue& value : run.varied) {
            one["vary"][value.pointer] = value.value;
        }
        for (const SearchColumn& column : search_columns) one[column.name] = column.value(run);
        for (std::size_t i = 0; i < first.space.size(); ++i) {
            one["settings"][first.space[i].pointer] = run.winner().settings[i];
        }
        document["runs"].push_back(std::move(one));
    }
    return document.dump(2) + "\n";
}

plots::FigureResult write_searches(OutputFolder& folder, const StepDocument& document,
                                   std::span<const scenarios::SearchScenario> variants,
                                   std::span<const SearchedRun> runs,
                                   const plots::FigureOptions& options, MoreFiles more) {
    ScenarioFiles files{.command = "search",
                        .resolved = variants.front().resolved,
                        .scenario_file = document.file,
                        .varied = document.varied,
                        .files = {{"search.csv", searches_csv(runs)},
                                  {"pieces.csv", pieces_csv(runs)},
                                  {"trials.csv", searched_trials_csv(runs)},
                                  {"search.json", searches_json(variants.front(), runs)}},
                        .figures = read_searched};
    std::ranges::move(more, std::back_inserter(files.files));
    return write_scenario_folder(folder, files, options);
}

bool is_searched(const std::filesystem::path& folder) {
    return std::filesystem::exists(folder / "search.json");
}

// Of the first seed: what was found when.
plots::FigureInput read_searched(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / "pieces.csv";
    const std::string text = read_file(file);
    const json about = json::parse(read_file(folder / "run.json"), nullptr, false);
    const bool largest = !about.is_object() || about.value("/scenario/metric"_json_pointer,
                                                           std::string("largest")) == "largest";
    traces::CsvScanner csv(text, file.string());
    csv.read_header();
    const std::size_t seed = csv.column("seed");
    const std::size_t searcher = csv.column("searcher");
    const std::size_t end = csv.column("end_s");
    const std::size_t metric = csv.column("metric");
    std::string first_seed;
    std::vector<FoundOverTime> found;
    while (csv.next_row()) {
        if (first_seed.empty()) first_seed = csv.field(seed);
        if (csv.field(seed) != first_seed) continue;
        std::string name(csv.field(searcher));
        for (std::size_t i = 0; i < seed; ++i) {  // what was varied stands before it
            name += fmt::format(", {} {}", csv.header(i), csv.field(i));
        }
        auto line = std::ranges::find(found, name, &FoundOverTime::name);
        if (line == found.end()) line = found.insert(found.end(), {name, {}});
        line->best.emplace_back(to_hours(csv.seconds(end)), metric_in(csv, metric));
    }
    plots::VariationInput figure;
    figure.title = "the best trial so far";
    figure.axis = "time (h)";
    figure.column = "time_h";
    figure.quantities = {{.panel = "metric", .axis = "metric", .column = "metric"}};
    figure.columns = {""};
    figure.steps = true;
    for (FoundOverTime& one : found) {
        std::ranges::stable_sort(one.best, {}, [](const auto& point) { return point.first; });
        plots::VariationLine& line = figure.lines.emplace_back();
        line.policy = one.name;
        for (const auto& [hours, value] : one.best) {
            const bool better =
                line.points.empty() || (largest ? value > line.points.back().values[0].mean
                                                : value < line.points.back().values[0].mean);
            if (!better) continue;
            if (!line.points.empty() && line.points.back().at == hours) line.points.pop_back();
            line.points.push_back({.at = hours, .values = {{.mean = value}}});
        }
    }
    plots::FigureInput input;
    constexpr std::size_t lines_that_fit = 12;
    const bool fits = !figure.lines.empty() && figure.lines.size() <= lines_that_fit;
    if (fits) input.found.push_back(std::move(figure));
    return input;
}

}  // namespace ukemi::analysis
