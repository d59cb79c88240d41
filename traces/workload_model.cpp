// workload_model.cpp — fits the generator, draws from it, and writes it.
#include "traces/workload_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "base/exact_math.hpp"
#include "base/input_error.hpp"
#include "base/rng.hpp"
#include "base/statistics.hpp"

namespace ukemi::traces {

namespace {

constexpr Duration burst_gap = minutes(1);
constexpr std::size_t hours_a_day = 24;
constexpr std::size_t quantiles_kept = 101;
constexpr double value_most = 1e9;

std::size_t class_of(std::int32_t gpus) {
    constexpr std::array<std::int32_t, WorkloadModel::classes - 1> up_to{1, 4, 8};
    const auto found = std::ranges::lower_bound(up_to, gpus);
    return static_cast<std::size_t>(found - up_to.begin());
}

std::size_t hour_of(Duration at) {
    return static_cast<std::size_t>(at.raw() / hours(1).raw()) % hours_a_day;
}

// How long each hour of the day was there, in hours.
std::array<double, hours_a_day> hours_seen(Duration from, Duration until) {
    std::array<double, hours_a_day> seen_h{};
    for (Duration at = from; at < until;) {
        const Duration next =
            std::min(until, at - nanoseconds(at.raw() % hours(1).raw()) + hours(1));
        seen_h[hour_of(at)] += to_hours(next - at);
        at = next;
    }
    return seen_h;
}

std::vector<double> quantiles_of(std::vector<double> values) {
    std::vector<double> kept;
    if (values.empty()) return kept;
    std::ranges::sort(values);
    for (std::size_t i = 0; i < quantiles_kept; ++i) {
        kept.push_back(quantile(values, static_cast<double>(i) / (quantiles_kept - 1)));
    }
    return kept;
}

// Between two quantiles on the straight line of their logarithms, where both are above 0.
double drawn_from(const std::vector<double>& quantiles, double uniform) {
    if (quantiles.size() == 1) return quantiles.front();
    const double at = uniform * static_cast<double>(quantiles.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const double part = at - static_cast<double>(below);
    const double low = quantiles[below];
    const double high = quantiles[below + 1];
    if (low <= 0) return low + part * (high - low);
    return low * exact::exp(part * exact::log(high / low));
}

bool repeats(const WorkloadRow& one, const WorkloadRow& before) {
    const double ratio = one.service / before.service;
    return one.gpus == before.gpus && ratio > 0.9 && ratio < 1.1;
}

}  // namespace

WorkloadModel fit_workload(std::span<const WorkloadRow> rows, std::string_view name) {
    WorkloadModel model;
    model.name = name;
    std::array<double, hours_a_day> starts{};
    std::vector<double> burst_jobs;
    std::vector<double> gaps_s;
    std::map<std::int32_t, double> sizes;
    std::array<std::vector<double>, WorkloadModel::classes> services_s;
    double repeated = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const WorkloadRow& row = rows[i];
        const bool begins = i == 0 || row.arrival - rows[i - 1].arrival >= burst_gap;
        services_s[class_of(row.gpus)].push_back(to_seconds(row.service));
        sizes[row.gpus] += 1;
        if (begins) {
            starts[hour_of(row.arrival)] += 1;
            burst_jobs.push_back(1);
            continue;
        }
        burst_jobs.back() += 1;
        gaps_s.push_back(to_seconds(row.arrival - rows[i - 1].arrival));
        repeated += repeats(row, rows[i - 1]) ? 1 : 0;
    }
    const std::array<double, hours_a_day> seen_h =
        hours_seen(rows.front().arrival, rows.back().arrival);
    for (std::size_t hour = 0; hour < hours_a_day; ++hour) {
        model.bursts_per_h.push_back(starts[hour] / std::max(1.0, seen_h[hour]));
    }
    for (const auto& [gpus, count] : sizes) {
        model.sizes.push_back({gpus, count / static_cast<double>(rows.size())});
    }
    model.repeats = gaps_s.empty() ? 0 : repeated / static_cast<double>(gaps_s.size());
    model.burst_jobs = quantiles_of(std::move(burst_jobs));
    model.gap_s = quantiles_of(std::move(gaps_s));
    for (auto& service_s : services_s) {
        model.service_s.push_back(quantiles_of(std::move(service_s)));
    }
    return model;
}

namespace {

class WorkloadDraw {
public:
    WorkloadDraw(const WorkloadModel& model, std::uint64_t seed)
        : model_(model), arrivals_(seed, "workload/arrivals"), jobs_(seed, "workload/jobs") {}

    std::vector<WorkloadRow> rows(Duration begin, Duration length, double rate) {
        const double most = rate * std::ranges::max(model_.bursts_per_h);
        std::vector<WorkloadRow> all;
        if (most <= 0) return all;
        for (Duration at;;) {
            at += seconds(arrivals_.exponential(3600 / most));
            if (at >= length) break;
            const double here = rate * model_.bursts_per_h[hour_of(begin + at)];
            if (arrivals_.uniform() * most < here) add_burst(at, all);
        }
        std::erase_if(all, [&](const WorkloadRow& row) { return row.arrival >= length; });
        std::ranges::stable_sort(all, {}, &WorkloadRow::arrival);
        for (std::size_t i = 0; i < all.size(); ++i) all[i].name = fmt::format("job-{}", i);
        return all;
    }

private:
    void add_burst(Duration at, std::vector<WorkloadRow>& all) {
        const auto jobs = std::max<std::int64_t>(
            1, round_nearest(drawn_from(model_.burst_jobs, jobs_.uniform())));
        for (std::int64_t i = 0; i < jobs; ++i) {
            if (i > 0 && !model_.gap_s.empty()) {
                at += seconds(drawn_from(model_.gap_s, jobs_.uniform()));
            }
            WorkloadRow row = i > 0 && jobs_.chance(model_.repeats) ? all.back() : drawn();
            row.arrival = at;
            all.push_back(row);
        }
    }
    WorkloadRow drawn() {
        WorkloadRow row;
        double left = jobs_.uniform();
        row.gpus = model_.sizes.back().gpus;
        for (const WorkloadModel::Size& size : model_.sizes) {
            if (left < size.share) {
                row.gpus = size.gpus;
                break;
            }
            left -= size.share;
        }
        const auto& service_s = model_.service_s[class_of(row.gpus)];
        row.service = std::max(nanoseconds(1), seconds(drawn_from(service_s, jobs_.uniform())));
        return row;
    }

    const WorkloadModel& model_;
    RandomStream arrivals_;
    RandomStream jobs_;
};

}  // namespace

std::vector<WorkloadRow> draw_workload(const WorkloadModel& model, std::uint64_t seed,
                                       Duration begin, Duration length, double rate) {
    return WorkloadDraw(model, seed).rows(begin, length, rate);
}

WorkloadModel read_workload_model(const std::filesystem::path& file) {
    ConfigReader root = ConfigReader::from_file(file);
    WorkloadModel model;
    model.name = root.text("name");
    const auto rising = [&](ConfigReader& config, std::string_view key, double least,
                            bool may_lack) {
        std::vector<double> values = config.numbers(key, least, value_most);
        if ((values.empty() && !may_lack) || !std::ranges::is_sorted(values)) {
            config.fail(key, "expected numbers from the least to the most");
        }
        return values;
    };
    model.bursts_per_h = root.numbers("bursts_per_h", 0, value_most);
    if (model.bursts_per_h.size() != hours_a_day || std::ranges::max(model.bursts_per_h) <= 0) {
        root.fail("bursts_per_h", "expected 24 numbers, one for each hour, not all 0");
    }
    model.burst_jobs = rising(root, "burst_jobs", 1, false);
    model.gap_s = rising(root, "gap_s", 0, true);
    model.repeats = root.number("repeats", 0, 1);
    for (ConfigReader& config : root.objects("sizes")) {
        constexpr std::int64_t gpus_most = 100'000;
        const auto gpus = static_cast<std::int32_t>(config.integer("gpus", 1, gpus_most));
        model.sizes.push_back({gpus, config.number("share", 0, 1)});
        config.finish();
    }
    if (model.sizes.empty()) root.fail("sizes", "expected at least one");
    ConfigReader services = root.object("service_s");
    for (const char* key : {"gpus_1", "gpus_2_to_4", "gpus_5_to_8", "gpus_more"}) {
        model.service_s.push_back(rising(services, key, 0, true));
    }
    services.finish();
    for (const WorkloadModel::Size& size : model.sizes) {
        if (model.service_s[class_of(size.gpus)].empty()) {
            root.fail("service_s", fmt::format("expected quantiles of jobs of {} GPUs", size.gpus));
        }
    }
    root.finish();
    return model;
}

std::string to_json(const WorkloadModel& model) {
    nlohmann::ordered_json document = {{"name", model.name},
                                       {"bursts_per_h", model.bursts_per_h},
                                       {"burst_jobs", model.burst_jobs},
                                       {"gap_s", model.gap_s},
                                       {"repeats", model.repeats}};
    for (const WorkloadModel::Size& size : model.sizes) {
        document["sizes"].push_back({{"gpus", size.gpus}, {"share", size.share}});
    }
    document["service_s"] = {{"gpus_1", model.service_s[0]},
                             {"gpus_2_to_4", model.service_s[1]},
                             {"gpus_5_to_8", model.service_s[2]},
                             {"gpus_more", model.service_s[3]}};
    return document.dump(1) + "\n";
}

}  // namespace ukemi::traces
