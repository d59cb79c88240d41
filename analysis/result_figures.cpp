// result_figures.cpp — a results folder read back, and drawn.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "analysis/pairs.hpp"
#include "analysis/phase_means.hpp"
#include "analysis/results.hpp"
#include "analysis/table.hpp"
#include "analysis/units.hpp"
#include "analysis/variation_figures.hpp"
#include "base/read_file.hpp"
#include "base/unit_text.hpp"
#include "scenarios/reader/variants.hpp"
#include "traces/csv_scanner.hpp"

namespace ukemi::analysis {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::string_view timeline_header =
    "t_s,phase,spot_held,on_demand_held,workers,spot_capacity,spot_usd_per_instance_hour,"
    "progress,spent_usd,spot_losses";
constexpr const char* timeline_prices =
    ",spot_usd_per_instance_hour_lowest,spot_usd_per_instance_hour_highest";

void add_to(plots::PlotBand& band, double at, double low, double high) {
    const bool same =
        !band.low.empty() && band.low.back().second == low && band.high.back().second == high;
    if (same) return;
    band.low.emplace_back(at, low);
    band.high.emplace_back(at, high);
}

plots::TimelineInput timeline_of(const fs::path& file) {
    plots::TimelineInput shown;
    const std::string text = read_file(file);
    const std::string path = file.string();  // which the scanner only looks at
    traces::CsvScanner rows(text, path);
    std::string header(timeline_header);
    // Where something is learned, where phases of transitions are told apart, of several zones.
    for (const char* more : {",loss,accuracy", ",batch,learned", ",transition_phase",
                             ",noise_scale", timeline_prices}) {
        if (text.starts_with(header + more)) header += more;
    }
    rows.expect_header(header);
    const auto columns = static_cast<std::size_t>(std::ranges::count(header, ',')) + 1;
    const bool prices = header.ends_with(timeline_prices);
    std::int64_t losses = 0;
    bool some_idle = false;
    while (rows.next_row(columns)) {
        const double at_h = to_hours(rows.seconds(0));
        const auto add = [&](plots::PlotPoints& points, double value) {
            if (points.empty() || points.back().second != value) points.emplace_back(at_h, value);
        };
        add(shown.spot_held, rows.count(2));
        add(shown.on_demand_held, rows.count(3));
        add(shown.workers, rows.count(4));
        some_idle = some_idle || rows.count(4) != rows.count(2) + rows.count(3);
        add(shown.capacity, rows.count(5));
        add(shown.price, to_dollars_per_hour(rows.price(6)));
        if (prices) {
            add_to(shown.prices, at_h, to_dollars_per_hour(rows.price(columns - 2)),
                   to_dollars_per_hour(rows.price(columns - 1)));
        }
        shown.progress.emplace_back(at_h, to_dollars_per_hour(rows.price(7)));
        const std::int64_t now = rows.whole(9, 0, 1'000'000'000, "a number of losses");
        if (now > losses) shown.revocations_h.push_back(at_h);
        losses = now;
        shown.end_h = at_h;
        const int held = std::max(rows.count(2) + rows.count(3), 1);
        shown.instances_max = std::max(shown.instances_max, held);
    }
    if (!some_idle) shown.workers.clear();
    return shown;
}

// What is said of the runs, by their folders as write_results calls them.
class ShownRuns {
public:
    struct Run {
        std::string title;
        std::string policy;
        std::optional<double> deadline_h;
    };

    ShownRuns(std::span<const plots::RunPoint> runs, std::span<const std::string> policies,
              std::span<const records::RunResult> stored) {
        FolderNames variants;
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const plots::RunPoint& run = runs[i];
            const Duration start = stored[i].start;
            fs::path own;
            if (!run.variant.empty()) own = variants.of(run.variant);
            own /= run_folder(policies[i], run.trace, run.seed, start);
            std::string title = fmt::format("{} on {}, seed {}", run.policy, run.trace, run.seed);
            if (start != Duration{}) title += ", from " + format_duration(start);
            if (!stored[i].varied.empty()) title += "; " + varied_words(stored[i].varied);
            runs_.try_emplace(own.string(), Run{std::move(title), run.policy, run.deadline_h});
        }
    }
    Run of(const std::string& folder) const {
        const auto found = runs_.find(folder);
        return found == runs_.end() ? Run{folder, "", std::nullopt} : found->second;
    }

private:
    std::map<std::string, Run> runs_;
};

// Timelines of older versions have the price of the first zone alone: that is said.
bool has_several_zones(const json& about) {
    if (about.value("zones", false)) return true;
    const json market = about.at("scenario").value("market", json::object());
    const json zones = market.value("zones", json::array());
    const json generated = market.value("generate", json::object());
    return zones.size() > 1 || (generated.is_object() && generated.value("zones", 1) > 1);
}

void add_timelines(plots::FigureInput& input, const fs::path& folder, const ShownRuns& runs,
                   bool several_zones) {
    constexpr std::size_t timelines_max = 8;
    if (!fs::is_directory(folder / "runs")) return;
    std::vector<fs::path> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder / "runs")) {
        if (entry.path().filename() == "timeline.csv") files.push_back(entry.path().parent_path());
    }
    std::ranges::sort(files);
    if (files.size() > timelines_max) files.resize(timelines_max);
    std::set<std::string> stems;
    for (const fs::path& file : files) {
        const ShownRuns::Run run = runs.of(fs::relative(file, folder / "runs").string());
        plots::TimelineInput& shown =
            input.timelines.emplace_back(timeline_of(file / "timeline.csv"));
        if (shown.end_h <= 0) {  // it ended where it began: there is nothing to draw
            input.timelines.pop_back();
            continue;
        }
        const bool one_of_several = several_zones && shown.prices.low.empty();
        shown.title = run.title + (one_of_several ? "; price of the first zone" : "");
        shown.policy = run.policy;
        shown.deadline_h = run.deadline_h;
        shown.file_stem = "timeline-" + file_name_of(file.filename().string());
        while (!stems.insert(shown.file_stem).second) shown.file_stem += '-';
    }
}

std::string text_of(const json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
}

// As it was given; of older versions, by its pointer.
std::string varied_text(const json& run, const std::string& pointer) {
    return text_of(run.contains("varied") ? run.at("varied").at(pointer) : run.at(pointer));
}

// The keys in which runs differ; text is shown as it is, all else as JSON.
void add_variant(plots::RunPoint& point, const json& run,
                 const std::vector<std::string>& pointers) {
    if (run.contains("deadline_s") && !run.at("deadline_s").is_null()) {
        point.deadline_h = run.at("deadline_s").get<double>() / 3600;
    }
    for (const std::string& pointer : pointers) {
        const std::string text = fmt::format("{}={}", pointer, varied_text(run, pointer));
        point.variant += (point.variant.empty() ? "" : ", ") + text;
        if (pointer == "/job/deadline") continue;
        point.other_variant +=
            (point.other_variant.empty() ? "" : ", ") +
            varied_words(std::vector{records::VariedValue{pointer, varied_text(run, pointer)}});
    }
}

// Of a stored run, what says which others it may be compared with, and what it took.
records::RunResult stored_run(const json& run, const std::vector<std::string>& pointers) {
    records::RunResult result;
    result.scenario = run.value("scenario", "");
    result.trace = run.at("trace").get<std::string>();
    result.record = run.value("record", result.trace);  // runs of older versions lack it
    result.start = seconds(run.value("start_s", 0.0));
    result.stretch = run.value("stretch", std::int64_t{0});
    result.policy = run.at("policy").get<std::string>();
    result.seed = run.at("seed").get<std::uint64_t>();
    result.finished = run.value("finished", true);
    result.cost = dollars(run.at("cost_usd").get<double>());
    result.duration = seconds(run.at("duration_s").get<double>());
    result.event_hash = run.value("event_hash", "");
    if (run.contains("deadline_s") && !run.at("deadline_s").is_null()) {
        result.deadline = seconds(run.at("deadline_s").get<double>());
        const json& met = run.at("deadline_met");
        result.deadline_met = met.is_boolean() && met.get<bool>();
    }
    for (const std::string& pointer : pointers) {
        result.varied.push_back({pointer, varied_text(run, pointer)});
    }
    return result;
}

// Which runs are independent, and how policies differ from the baseline: of each variant.
void add_clusters(plots::FigureInput& input, std::span<const records::RunResult> runs,
                  const std::string& baseline) {
    std::set<std::string> words;
    for (const auto& positions : variants_among(runs)) {
        const RunClusters clusters = clusters_of(runs, positions);
        words.insert(clusters.words());
        for (std::size_t i = 0; i < positions.size(); ++i) {
            input.runs[positions[i]].cluster = clusters.cluster[i];
        }
    }
    if (words.size() == 1) input.intervals_over = *words.begin();
    if (baseline.empty()) return;
    constexpr double level = 0.05;
    for (const PolicyPair& pair : pairs_with(runs, baseline)) {
        const PairedQuantity& cost = pair.quantities.front();
        if (pair.pairs == 0) continue;
        plots::PairedCost& shown = input.differences.emplace_back();
        const auto run = std::ranges::find_if(runs, [&](const records::RunResult& one) {
            return scenarios::variant_label(one.varied) == pair.variant;
        });
        shown.variant = input.runs[static_cast<std::size_t>(run - runs.begin())].variant;
        shown.policy = short_label(pair.policy);
        shown.baseline = short_label(pair.baseline);
        shown.usd_mean = cost.difference.mean;
        shown.usd_low_95 = cost.difference.mean_low_95;
        shown.usd_high_95 = cost.difference.mean_high_95;
        shown.significant = cost.p_holm && *cost.p_holm < level;
    }
}

// Where the run tells phases apart; results of older versions have none.
void add_phases(PhaseSums& sums, const plots::RunPoint& point, const json& run) {
    PhaseNumbers standstill_s{};
    PhaseNumbers machine_h{};
    for (std::size_t phase = 1; phase < policies::transition_phase_count; ++phase) {
        const std::string name = fmt::format("{}_phase", policies::transition_phase_names[phase]);
        const auto standstill = run.find(name + "_s");
        const auto instance = run.find(name + "_instance_s");
        const bool known = standstill != run.end() && standstill->is_number() &&
                           instance != run.end() && instance->is_number();
        if (!known) return;
        standstill_s[phase] = standstill->get<double>();
        machine_h[phase] = instance->get<double>() / 3600;
    }
    sums.add(point.variant, point.policy, run.at("transitions").get<double>(), standstill_s,
             machine_h);
}

struct ReadRuns {
    plots::FigureInput input;
    std::vector<std::string> policies;  // by their full names
    std::vector<records::RunResult> stored;
};

ReadRuns read_runs(const json& runs, const std::vector<std::string>& pointers,
                   const std::string& baseline) {
    ReadRuns read;
    plots::FigureInput& input = read.input;
    PhaseSums phases;
    static_assert(records::cause_count == plots::cost_causes.size());
    for (const json& run : runs) {
        plots::RunPoint point;
        read.policies.push_back(run.at("policy").get<std::string>());
        point.policy = short_label(read.policies.back());
        point.trace = run.at("trace").get<std::string>();
        point.seed = run.at("seed").get<std::uint64_t>();
        point.cost_usd = run.at("cost_usd").get<double>();
        point.duration_h = run.at("duration_s").get<double>() / 3600;
        const json& met = run.at("deadline_met");
        point.deadline_met = met.is_null() ? std::nullopt : std::optional(met.get<bool>());
        for (std::size_t cause = 0; cause < records::cause_count; ++cause) {
            const std::string key = std::string(plots::cost_causes[cause]) + "_usd";
            point.usd_by_cause[cause] = run.at(key).get<double>();
        }
        if (run.contains("spot_usd")) {  // older versions lack it
            point.usd_by_market = {run.at("spot_usd").get<double>(),
                                   run.at("on_demand_usd").get<double>()};
        }
        if (const auto egress = run.find("egress_usd"); egress != run.end()) {
            point.egress_usd = egress->get<double>();
        }
        add_variant(point, run, pointers);
        add_phases(phases, point, run);
        read.stored.push_back(stored_run(run, pointers));
        input.runs.push_back(std::move(point));
    }
    if (!input.runs.empty()) input.deadline_h = input.runs.front().deadline_h;
    add_clusters(input, read.stored, baseline);
    input.transitions = transition_rows(phases.means());
    input.variations = variations_of(read.stored);
    return read;
}

}  // namespace

plots::FigureInput figures_of_runs(const json& runs, const std::vector<std::string>& pointers,
                                   const std::string& baseline) {
    return read_runs(runs, pointers, baseline).input;
}

plots::FigureInput read_results(const fs::path& folder) {
    const fs::path runs_file = folder / "runs.json";
    const fs::path run_file = folder / "run.json";
    if (fs::exists(folder / "compare.json")) {
        throw InputError(folder.string(), "",
                         "is of ukemi compare, which draws its figures itself: ukemi compare "
                         "FOLDER --out NEW, with --width and what else figures have");
    }
    if (!fs::exists(runs_file) || !fs::exists(run_file)) {
        throw InputError(folder.string(), "",
                         "is no results folder: runs.json or run.json is missing");
    }
    try {
        const json about = json::parse(read_file(run_file));
        std::vector<std::string> pointers;
        if (about.contains("vary")) {
            for (const json& key : about.at("vary")) {
                pointers.push_back(key.at("pointer").get<std::string>());
            }
        }
        const json document = json::parse(read_file(runs_file));
        ReadRuns read = read_runs(document.at("runs"), pointers, about.value("baseline", ""));
        plots::FigureInput& input = read.input;
        const json& job = about.at("scenario").at("job");
        if (!input.deadline_h && job.contains("deadline")) {  // runs of older versions lack it
            const auto text = job.at("deadline").get<std::string>();
            input.deadline_h = to_hours(parse_duration(text, run_file.string()));
        }
        add_timelines(input, folder, ShownRuns(input.runs, read.policies, read.stored),
                      has_several_zones(about));
        return std::move(input);
    } catch (const json::exception& error) {
        throw InputError(folder.string(), "", fmt::format("damaged: {}", error.what()));
    }
}

plots::FigureResult draw_results(const plots::FigureInput& input, const fs::path& folder,
                                 const plots::FigureOptions& options) {
    constexpr std::size_t variants_drawn_max = 12;
    std::vector<std::string> variants;
    for (const plots::RunPoint& run : input.runs) {
        if (std::ranges::find(variants, run.variant) == variants.end()) {
            variants.push_back(run.variant);
        }
    }
    if (variants.size() < 2) return plots::draw_all(input, folder, options);
    plots::FigureResult all;
    // Rows of one policy and several variants would mean nothing.
    for (const plots::Figure& figure : plots::all_figures()) {
        const bool of_one_variant =
            figure.draw == plots::draw_cost_and_time || figure.draw == plots::draw_cost_by_cause;
        if (of_one_variant || !figure.has_input(input)) continue;
        if (!plots::is_shown(figure, options.style)) continue;
        plots::add_result(all, figure.draw(input, folder, options));
    }
    FolderNames names;
    for (std::size_t i = 0; i < std::min(variants.size(), variants_drawn_max); ++i) {
        plots::FigureInput part;
        for (const plots::RunPoint& run : input.runs) {
            if (run.variant == variants[i]) part.runs.push_back(run);
        }
        part.deadline_h = part.runs.front().deadline_h;
        part.intervals_over = input.intervals_over;
        for (const plots::PairedCost& one : input.differences) {
            if (one.variant == variants[i]) part.differences.push_back(one);
        }
        plots::add_result(all, plots::draw_all(part, folder / names.of(variants[i]), options));
    }
    if (variants.size() > variants_drawn_max) {
        all.notes.push_back(fmt::format("the first {} of {} variants have figures of their own",
                                        variants_drawn_max, variants.size()));
    }
    return all;
}

}  // namespace ukemi::analysis
