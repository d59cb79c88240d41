#include "analysis/learning_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "analysis/units.hpp"
#include "base/clustered_summary.hpp"
#include "base/exact_math.hpp"
#include "scenarios/reader/variants.hpp"

namespace ukemi::analysis {

namespace {

constexpr int grid_points = 200;
constexpr std::size_t places_max = 1000;  // of the runs' own, beside the grid

double last_hour_shown(std::span<const records::RunResult> results) {
    double last_h = 0;
    for (const records::RunResult& result : results) {
        if (result.finished) last_h = std::max(last_h, 1.5 * to_hours(result.duration));
    }
    return last_h > 0 ? last_h : std::numeric_limits<double>::infinity();
}

using RowValue = std::function<std::optional<double>(const records::TimelineRow&)>;

// (where, value) of one run, rising; what a loss took back and did again is shown once.
plots::PlotPoints points_of(const records::RunResult& result, bool by_samples, double last_h,
                            const RowValue& value) {
    plots::PlotPoints points;
    for (const records::TimelineRow& row : result.timeline) {
        const double at_h = to_hours(row.at.since_start());
        if (at_h > last_h) break;
        const double at = by_samples ? static_cast<double>(row.samples_done) : at_h;
        const auto one = value(row);
        if (!one || (!points.empty() && at < points.back().first)) continue;
        points.emplace_back(at, *one);
    }
    return points;
}

double value_at(const plots::PlotPoints& points, double at, bool joined) {
    const auto after =
        std::ranges::upper_bound(points, at, {}, &plots::PlotPoints::value_type::first);
    if (after == points.begin()) return points.front().second;
    const auto& left = *(after - 1);
    if (!joined || after == points.end()) return left.second;
    const double part = (at - left.first) / (after->first - left.first);
    return left.second + part * (after->second - left.second);
}

struct Look {
    bool by_samples = false;
    bool joined = true;      // by straight lines; else a value holds until the next
    bool geometric = false;  // means of logarithms, for what is shown on such an axis
    bool share = false;      // from 0 to 1, and so is whatever the mean may be
};

struct Mean {
    double value = 0;
    double low = 0;
    double high = 0;
};

Mean mean_of(std::vector<ClusterValue> values, const Look& look) {
    const auto [least, most] = std::ranges::minmax(values, {}, &ClusterValue::value);
    if (least.value == most.value) return {least.value, least.value, least.value};  // to the bit
    if (!look.geometric) {
        const Summary summary = summarise_clusters(values);
        if (!look.share) return {summary.mean, summary.mean_low_95, summary.mean_high_95};
        // What is left of the interval holds the mean as surely: the rest of it cannot be.
        return {summary.mean, std::max(summary.mean_low_95, 0.0),
                std::min(summary.mean_high_95, 1.0)};
    }
    for (ClusterValue& one : values) one.value = exact::log(one.value);
    const Summary summary = summarise_clusters(values);
    return {exact::exp(summary.mean), exact::exp(summary.mean_low_95),
            exact::exp(summary.mean_high_95)};
}

// Evenly from the first point to the last end, and where runs have points of their own, or at so
// many of these as there is room for.
std::vector<double> places_of(const std::vector<plots::PlotPoints>& all) {
    std::vector<double> own;
    for (const plots::PlotPoints& points : all) {
        for (const auto& [at, value] : points) own.push_back(at);
    }
    std::ranges::sort(own);
    const double first = own.front();
    const double end = own.back();
    own.erase(std::ranges::unique(own).begin(), own.end());
    std::vector<double> places;
    const std::size_t apart = (own.size() + places_max - 1) / places_max;
    for (std::size_t i = 0; i < own.size(); i += apart) places.push_back(own[i]);
    for (int i = 0; i <= grid_points; ++i)
        places.push_back(first + (end - first) * i / grid_points);
    std::ranges::sort(places);
    places.erase(std::ranges::unique(places).begin(), places.end());
    return places;
}

struct ClusteredRun {
    const records::RunResult* run;
    std::size_t cluster;  // intervals are over these
};

// One run as it was; of several the mean and its interval; a run that ended before keeps its last
// value.
void add_line(std::span<const ClusteredRun> runs, double last_h, const Look& look,
              const RowValue& value, plots::PlotPoints& line, plots::PlotBand& band) {
    std::vector<plots::PlotPoints> all;
    std::vector<std::size_t> clusters;
    for (const auto& [run, cluster] : runs) {
        plots::PlotPoints points = points_of(*run, look.by_samples, last_h, value);
        if (points.empty()) continue;
        all.push_back(std::move(points));
        clusters.push_back(cluster);
    }
    if (all.size() < 2) {
        if (!all.empty()) line = std::move(all.front());
        return;
    }
    for (const double at : places_of(all)) {
        std::vector<ClusterValue> values;
        for (std::size_t i = 0; i < all.size(); ++i) {
            values.push_back({clusters[i], value_at(all[i], at, look.joined)});
        }
        const Mean mean = mean_of(std::move(values), look);
        line.emplace_back(at, mean.value);
        band.low.emplace_back(at, mean.low);
        band.high.emplace_back(at, mean.high);
    }
}

// An accuracy or a hit rate, and no loss or word error rate: by what the runs show.
bool metrics_are_shares(std::span<const records::RunResult> results) {
    return std::ranges::all_of(results, [](const records::RunResult& result) {
        return std::ranges::all_of(result.timeline, [](const records::TimelineRow& row) {
            return !row.accuracy || (*row.accuracy >= 0 && *row.accuracy <= 1);
        });
    });
}

std::string full_name(const records::RunResult& result, bool with_scenario) {
    std::string name = with_scenario ? result.scenario + ": " : "";
    name += result.policy;
    const std::string variant = scenarios::variant_label(result.varied);
    return variant.empty() ? name : name + ", " + variant;
}

// Short enough for a key: without a policy that all have, and of a pointer its last part.
std::string short_name(const records::RunResult& result, bool with_policy) {
    std::string name = with_policy ? result.policy : "";
    for (const records::VariedValue& one : result.varied) {
        if (!name.empty()) name += ", ";
        name += one.pointer.substr(one.pointer.rfind('/') + 1) + "=" + one.value;
    }
    return name.empty() ? result.policy : name;
}

}  // namespace

std::vector<plots::LearningRun> learning_runs(std::span<const records::RunResult> results) {
    const double last_h = last_hour_shown(results);
    std::vector<std::string> names;
    std::set<std::string> policies;
    std::map<std::string, std::vector<ClusteredRun>> by_name;
    const bool many = std::ranges::any_of(results, [&](const records::RunResult& one) {
        return one.scenario != results.front().scenario;
    });
    for (const records::RunResult& result : results) {
        const std::string name = full_name(result, many);
        policies.insert(result.policy);
        if (by_name.try_emplace(name).second) names.push_back(name);
    }
    for (const auto& positions : variants_among(results)) {
        const RunClusters clusters = clusters_of(results, positions);
        for (std::size_t i = 0; i < positions.size(); ++i) {
            const records::RunResult& result = results[positions[i]];
            if (!clusters.counts(i)) continue;
            by_name[full_name(result, many)].push_back({&result, clusters.cluster[i]});
        }
    }
    std::set<std::string> short_names;
    const auto shortened = [&](const std::string& name) {
        return short_name(*by_name[name].front().run, policies.size() > 1);
    };
    for (const std::string& name : names) short_names.insert(shortened(name));
    const bool told_apart = short_names.size() == names.size();
    const RowValue learned = [](const records::TimelineRow& row) { return row.learned; };
    const RowValue metric = [](const records::TimelineRow& row) { return row.accuracy; };
    const RowValue noise = [](const records::TimelineRow& row) { return row.noise_scale; };
    const RowValue batch = [](const records::TimelineRow& row) -> std::optional<double> {
        if (!row.batch) return std::nullopt;
        return static_cast<double>(*row.batch);
    };
    const bool shares = metrics_are_shares(results);
    std::vector<plots::LearningRun> lines;
    for (const std::string& name : names) {
        const auto& runs = by_name[name];
        plots::LearningRun line{told_apart ? shortened(name) : name, {}, {}, {}};
        add_line(runs, last_h, {.share = true}, learned, line.learned, line.learned_band);
        if (line.learned.empty()) continue;
        add_line(runs, last_h, {.share = shares}, metric, line.metric, line.metric_band);
        add_line(runs, last_h, {.joined = false, .geometric = true}, batch, line.batch,
                 line.batch_band);
        add_line(runs, last_h, {.by_samples = true, .share = shares}, metric,
                 line.metric_by_samples, line.metric_by_samples_band);
        // What is known at the end alone is no line.
        if (!line.metric.empty() && line.metric.front().first == line.metric.back().first) {
            line.metric.clear();
            line.metric_band = {};
            line.metric_by_samples.clear();
            line.metric_by_samples_band = {};
        }
        add_line(runs, last_h, {.by_samples = true, .geometric = true}, noise,
                 line.noise_by_samples, line.noise_by_samples_band);
        lines.push_back(std::move(line));
    }
    return lines;
}

std::string how_sure(std::span<const scenarios::Scenario> scenarios) {
    std::string lines;
    for (const scenarios::Scenario& scenario : scenarios) {
        if (!scenario.job.learning) continue;
        const std::string uncertainty = scenario.job.learning->uncertainty();
        if (uncertainty.empty()) continue;
        const std::string line = fmt::format("{}: {}\n", scenario.name, uncertainty);
        if (lines.find(line) == std::string::npos) lines += line;
    }
    return lines;
}

}  // namespace ukemi::analysis
