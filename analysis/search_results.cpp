// search_results.cpp — runs searches, and sums up what came out.
#include "analysis/search_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "analysis/scenario_folder.hpp"
#include "analysis/seeded_figures.hpp"
#include "base/csv_writer.hpp"
#include "base/first_failure.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "base/text_digest.hpp"
#include "base/text_scan.hpp"
#include "base/time_unit.hpp"
#include "records/varied_columns.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

using nlohmann::json;

namespace {

// Each piece with its settings, and when it was trained: in integers and in the bits of metrics.
std::string hash_of(const sim::SearchOutcome& outcome) {
    std::uint64_t digest = text_digest_begin;
    for (std::size_t i = 0; i < outcome.pieces.size(); ++i) {
        const sim::TrainedPiece& piece = outcome.pieces[i];
        const sim::JobOutcome& job = outcome.schedule.jobs[i];
        digest = text_digest(fmt::format("{} {} {} {} {} {:x} {} {} {}\n", piece.asked.trial,
                                         piece.asked.copies.value_or(piece.asked.trial), piece.from,
                                         piece.asked.until, piece.came.raw(),
                                         std::bit_cast<std::uint64_t>(piece.metric),
                                         job.completion.raw(), job.starts, job.held.raw()),
                             digest);
    }
    for (const sim::SearchedTrial& trial : outcome.trials) {
        for (const std::string& value : trial.settings) digest = text_digest(value + "\n", digest);
    }
    return fmt::format("{:016x}", digest);
}

using records::RunColumnKind;
using records::RunValue;
using SearchColumn = SummaryColumn<SearchedRun>;

RunValue count_of(std::size_t count) { return static_cast<std::int64_t>(count); }

// Of the comparison with full training, where that was asked for.
template <auto member>
RunValue of_full(const SearchedRun& run) {
    if (!run.full) return {};
    const auto value = (*run.full).*member;
    if constexpr (std::is_same_v<decltype(value), const std::size_t>) {
        return count_of(value);
    } else {
        return value;
    }
}

constexpr std::array columns_of_searches = {
    SearchColumn{"trials", RunColumnKind::integer,
                 [](const SearchedRun& run) { return count_of(run.outcome.trials.size()); }},
    SearchColumn{"pieces", RunColumnKind::integer,
                 [](const SearchedRun& run) { return count_of(run.outcome.pieces.size()); }},
    SearchColumn{"restarts", RunColumnKind::integer,
                 [](const SearchedRun& run) -> RunValue { return run.outcome.restarts; }},
    SearchColumn{"winner", RunColumnKind::identifier,
                 [](const SearchedRun& run) { return count_of(run.outcome.winner); }},
    SearchColumn{"units", RunColumnKind::integer,
                 [](const SearchedRun& run) -> RunValue { return run.winner().units; }},
    SearchColumn{"metric", RunColumnKind::real,
                 [](const SearchedRun& run) -> RunValue {
                     return run.outcome.anything() ? RunValue(run.winner().metric) : RunValue();
                 }},
    SearchColumn{"makespan_s", RunColumnKind::real,
                 [](const SearchedRun& run) -> RunValue { return run.makespan_s(); }},
    SearchColumn{"gpu_h", RunColumnKind::real,
                 [](const SearchedRun& run) -> RunValue { return run.outcome.gpu_s / 3600; }},
    SearchColumn{"full_gpu_h", RunColumnKind::real,
                 [](const SearchedRun& run) -> RunValue {
                     const auto s = run.outcome.full_gpu_s;
                     return s ? RunValue(*s / 3600) : RunValue();
                 }},
    SearchColumn{"gpu_share", RunColumnKind::real,
                 [](const SearchedRun& run) { return value_or_nothing(run.gpu_share()); }},
    SearchColumn{"full_winner", RunColumnKind::identifier, of_full<&sim::FullComparison::winner>},
    SearchColumn{"full_metric", RunColumnKind::real, of_full<&sim::FullComparison::metric>},
    SearchColumn{"same_winner", RunColumnKind::flag, of_full<&sim::FullComparison::same_winner>},
    SearchColumn{"as_good", RunColumnKind::flag, of_full<&sim::FullComparison::as_good>},
    SearchColumn{"outcome_hash", RunColumnKind::text,
                 [](const SearchedRun& run) -> RunValue { return run.outcome_hash; }},
};

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

// Of a trial that never began there are none.
void add_settings(CsvWriter& csv, const SearchedRun& run, const sim::TrialSettings& settings) {
    for (std::size_t i = 0; i < run.scenario->space.size(); ++i) {
        csv.add(settings.empty() ? "" : settings[i]);
    }
}

void add_head(CsvWriter& csv, const records::VariedColumns& varied, const SearchedRun& run) {
    varied.add_fields(csv, run.varied);
    csv.add(run.seed).add(run.searcher);
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
            csv.add(job.starts).add(job.gpu_s);
            piece.failed ? csv.add("") : csv.add(piece.metric);
            csv.end_row();
        }
    }
    return csv.text();
}

std::string settings_in_words(const SearchedRun& run) {
    std::string words;
    for (std::size_t i = 0; i < run.scenario->space.size(); ++i) {
        words += fmt::format("{}{}={}", words.empty() ? "" : ", ", run.scenario->space[i].pointer,
                             run.winner().settings[i]);
    }
    return one_line(words);
}

struct SearchUnits {
    TimeUnit makespan;
    TimeUnit gpus;
};

SearchUnits units_of(const GroupedRuns& groups) {
    double makespan_h = 0;
    double gpu_h = 0;
    for (const GroupMeans& group : groups.means()) {
        makespan_h = std::max(makespan_h, mean_of(groups, group, "makespan_s").mean / 3600);
        gpu_h = std::max(gpu_h, mean_of(groups, group, "gpu_h").mean);
    }
    return {table_time_unit(makespan_h), table_time_unit(gpu_h)};
}

std::string row_of(const GroupedRuns& groups, const SearchUnits& units, const GroupMeans& group,
                   const SearchedRun& first) {
    const auto mean = [&](std::string_view column) { return mean_of(groups, group, column).mean; };
    std::string row = fmt::format(
        "{:<20}{:>7}{:>8}{:>10.4f}{:>15.2f}{:>9.2f}{:>8}", group.policy, mean_count(mean("trials")),
        mean_count(mean("pieces")), mean("metric"),
        mean("makespan_s") / 3600 * units.makespan.per_hour, mean("gpu_h") * units.gpus.per_hour,
        first.gpu_share() ? fmt::format("{:.1f}", 100 * mean("gpu_share")) : "-");
    const auto runs = static_cast<double>(group.outcome.runs);
    if (first.full) {
        row += fmt::format("{:>8} of {}{:>8}", std::round(mean("same_winner") * runs),
                           group.outcome.runs, std::round(mean("as_good") * runs));
    }
    row += '\n';
    if (!group.keys.front().empty()) row += fmt::format("  {}\n", one_line(group.keys.front()));
    if (group.outcome.runs == 1) {
        row += first.outcome.anything()
                   ? fmt::format("  trial {}: {}\n", first.outcome.winner, settings_in_words(first))
                   : "  no piece of training came to its end\n";
    }
    return row;
}

// The first run of a group.
const SearchedRun& first_of(const GroupMeans& group, std::span<const SearchedRun> runs) {
    return *std::ranges::find_if(runs, [&](const SearchedRun& run) {
        return run.searcher == group.policy &&
               records::variant_label(run.varied) == group.keys.front();
    });
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

std::span<const SummaryColumn<SearchedRun>> search_columns() { return columns_of_searches; }

SearchedRun SearcherRuns::run(std::size_t number) {
    const scenarios::NamedSearcher& named = scenario_.searchers[number];
    SearchedRun run = searched_run(scenario_, named, learned_, nullptr);
    if (full_) run.full = sim::compared_with_full(run.outcome, learned_, named.entry->on_grid);
    return run;
}

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
    run.outcome_hash = hash_of(run.outcome);
    return run;
}

std::vector<SearchedRun> run_searches(std::span<const scenarios::SearchScenario> variants,
                                      std::span<const std::uint64_t> seeds, bool full,
                                      const RunProgress& progress) {
    const std::size_t each = std::max<std::size_t>(1, seeds.size());
    std::vector<std::vector<SearchedRun>> results(variants.size() * each);
    SeenProgress seen(results.size(), progress);
    guarded_parallel_for(results.size(), machine_threads(), [&](std::size_t i) {
        const scenarios::SearchScenario& scenario = variants[i / each];
        SearcherRuns runs(scenario, seeds.empty() ? scenario.seed : seeds[i % each], full);
        for (std::size_t searcher = 0; searcher < runs.count(); ++searcher) {
            results[i].push_back(runs.run(searcher));
        }
        seen.one_more();
    });
    std::vector<SearchedRun> all;
    for (std::vector<SearchedRun>& own : results) std::ranges::move(own, std::back_inserter(all));
    return all;
}

GroupedRuns search_means(std::span<const SearchedRun> runs, const std::string& baseline) {
    return grouped_over_seeds("searcher", seeded_runs(runs, search_columns()),
                              names_of(search_columns()), baseline);
}

std::string searches_table(const scenarios::SearchScenario& first,
                           std::span<const SearchedRun> runs, const std::string& baseline) {
    const GroupedRuns groups = search_means(runs, baseline);
    const std::size_t seeds = groups.means().front().outcome.runs;
    const bool full = runs.front().full.has_value();
    std::string text = fmt::format(
        "{}: {} key{}, {} units a training, on {} GPUs{}\n\n", one_line(first.name),
        first.space.size(), first.space.size() == 1 ? "" : "s", first.units,
        first.where.cluster.gpus(), seeds > 1 ? fmt::format("; means over {} seeds", seeds) : "");
    const SearchUnits units = units_of(groups);
    text += fmt::format(
        "{:<20}{:>7}{:>8}{:>10}{:>15}{:>9}{:>8}{}\n", "searcher", "trials", "pieces", "metric",
        fmt::format("makespan ({})", units.makespan.symbol),
        fmt::format("GPU {}", units.gpus.symbol), "GPU %",
        full ? fmt::format("{:>{}}{:>8}", "winner", 12 + (seeds > 9 ? 1 : 0), "as good") : "");
    for (const GroupMeans& group : groups.means()) {
        text += row_of(groups, units, group, first_of(group, runs));
    }
    text +=
        "\nmetric: of the trial that won; GPU %: of what training all these trials in full takes";
    if (full) text += ";\nwinner: the one that full training of all has, or (as good) one no worse";
    static constexpr std::array<std::string_view, 3> paired{"metric", "gpu_h", "makespan_s"};
    return text + "\n" + pairs_table(groups.pairs(), paired, pairs_share(groups.grouping()));
}

std::string searches_csv(std::span<const SearchedRun> runs) {
    const records::VariedColumns varied{runs};
    std::vector<std::string> names;
    for (const SearchColumn& column : columns_of_searches) names.emplace_back(column.name);
    CsvWriter csv(columns_of(runs, varied, std::move(names), true));
    for (const SearchedRun& run : runs) {
        add_head(csv, varied, run);
        for (const SearchColumn& column : columns_of_searches)
            add_summary_value(csv, column.of(run));
        add_settings(csv, run, run.winner().settings);
        csv.end_row();
    }
    return csv.text();
}

std::string searched_trials_csv(std::span<const SearchedRun> runs) {
    const records::VariedColumns varied{runs};
    CsvWriter csv(columns_of(runs, varied, {"trial", "units", "metric", "gpu_s"}, true));
    for (const SearchedRun& run : runs) {
        for (std::size_t i = 0; i < run.outcome.trials.size(); ++i) {
            const sim::SearchedTrial& trial = run.outcome.trials[i];
            add_head(csv, varied, run);
            csv.add(i).add(trial.units);
            trial.units > 0 ? csv.add(trial.metric) : csv.add("");
            csv.add(trial.gpu_s);
            add_settings(csv, run, trial.settings);
            csv.end_row();
        }
    }
    return csv.text();
}

std::string searches_json(const scenarios::SearchScenario& first, std::span<const SearchedRun> runs,
                          const std::string& baseline) {
    using nlohmann::ordered_json;
    ordered_json document = {{"scenario", first.name}, {"gpus", first.where.cluster.gpus()}};
    document["means"] = grouped_rows(search_means(runs, baseline));
    ordered_json& rows = document["runs"] =
        seeded_rows("searcher", seeded_runs(runs, search_columns()), names_of(search_columns()));
    for (std::size_t run = 0; run < runs.size(); ++run) {
        rows[run]["settings"] = ordered_json::object();
        for (std::size_t i = 0; i < first.space.size() && runs[run].outcome.anything(); ++i) {
            rows[run]["settings"][first.space[i].pointer] = runs[run].winner().settings[i];
        }
    }
    return document.dump(2) + "\n";
}

plots::FigureResult write_searches(OutputFolder& folder, const StepDocument& document,
                                   std::span<const scenarios::SearchScenario> variants,
                                   std::span<const SearchedRun> runs,
                                   const plots::FigureOptions& options, MoreFiles more) {
    ScenarioFiles files{
        .command = "search",
        .resolved = variants.front().resolved,
        .document = document,
        .files = {{"search.csv", searches_csv(runs)},
                  {"pieces.csv", pieces_csv(runs)},
                  {"trials.csv", searched_trials_csv(runs)},
                  {"search.json", searches_json(variants.front(), runs, document.baseline)}},
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
    bool several_seeds = false;
    std::vector<FoundOverTime> found;
    while (csv.next_row()) {
        if (first_seed.empty()) first_seed = csv.field(seed);
        if (csv.field(seed) != first_seed) {
            several_seeds = true;
            continue;
        }
        if (csv.field(end).empty() || csv.field(metric).empty()) continue;  // it was broken off
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
    if (several_seeds) figure.title += fmt::format(", of seed {} alone", first_seed);
    figure.axis = figure.column = "time";
    figure.hours = true;
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
    static const std::array quantities{
        SeededQuantity{{"metric", "metric of the trial that won", "metric"}, "metric"},
        SeededQuantity{{.panel = "time", .axis = "GPU time", .column = "gpu_time", .hours = true},
                       "gpu_h"}};
    input.variations = seeded_variations(folder / "search.json", "searcher", quantities);
    constexpr std::size_t lines_that_fit = 12;
    const bool fits = !figure.lines.empty() && figure.lines.size() <= lines_that_fit;
    if (fits) input.found.push_back(std::move(figure));
    return input;
}

}  // namespace ukemi::analysis
