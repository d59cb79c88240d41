// workload_check.cpp — a fitted workload beside what was kept back of its record.
#include <algorithm>
#include <cmath>

#include "base/rng.hpp"
#include "traces/workload_model.hpp"

namespace ukemi::traces {

namespace {

constexpr std::uint64_t draws = 10;

double largest_difference(std::vector<double> a, std::vector<double> b) {
    std::ranges::sort(a);
    std::ranges::sort(b);
    double most = 0;
    for (const auto* values : {&a, &b}) {
        for (const double value : *values) {
            const auto share = [&](const std::vector<double>& of) {
                const auto up_to = std::ranges::upper_bound(of, value) - of.begin();
                return static_cast<double>(up_to) / static_cast<double>(of.size());
            };
            most = std::max(most, std::abs(share(a) - share(b)));
        }
    }
    return most;
}

// What is compared, of one workload.
struct WorkloadSamples {
    std::vector<double> gap_s;
    std::vector<double> jobs_per_h;
    std::vector<double> gpus;
    std::vector<double> service_s;
    std::vector<double> gpu_h_per_h;  // asked for
};

WorkloadSamples samples_of(std::span<const WorkloadRow> rows, Duration length) {
    WorkloadSamples samples;
    const auto count = static_cast<std::size_t>(length.raw() / hours(1).raw()) + 1;
    samples.jobs_per_h.assign(count, 0);
    samples.gpu_h_per_h.assign(count, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const WorkloadRow& row = rows[i];
        if (i > 0) samples.gap_s.push_back(to_seconds(row.arrival - rows[i - 1].arrival));
        const auto hour = static_cast<std::size_t>(row.arrival.raw() / hours(1).raw());
        samples.jobs_per_h[hour] += 1;
        samples.gpu_h_per_h[hour] += row.gpus * to_hours(row.service);
        samples.gpus.push_back(row.gpus);
        samples.service_s.push_back(to_seconds(row.service));
    }
    return samples;
}

std::vector<WorkloadRow> naive_workload(std::span<const WorkloadRow> fitted, std::uint64_t seed,
                                        Duration length) {
    double service_s = 0;
    double gpus = 0;
    for (const WorkloadRow& row : fitted) {
        service_s += to_seconds(row.service);
        gpus += row.gpus;
    }
    const auto jobs = static_cast<double>(fitted.size());
    const double gap_s = to_seconds(fitted.back().arrival - fitted.front().arrival) / jobs;
    RandomStream random(seed, "workload/naive");
    std::vector<WorkloadRow> rows;
    for (Duration at = seconds(random.exponential(gap_s)); at < length;
         at += seconds(random.exponential(gap_s))) {
        WorkloadRow& row = rows.emplace_back();
        row.arrival = at;
        row.gpus = static_cast<std::int32_t>(std::max<std::int64_t>(1, round_nearest(gpus / jobs)));
        row.service = seconds(random.exponential(service_s / jobs));
    }
    return rows;
}

}  // namespace

WorkloadCheck check_workload_fit(std::span<const WorkloadRow> rows) {
    const Duration begin = rows.front().arrival;
    const Duration whole = rows.back().arrival - begin;
    const Duration cut = begin + nanoseconds(whole.raw() / 10 * 7);
    const auto first = std::ranges::lower_bound(rows, cut, {}, &WorkloadRow::arrival);
    const std::span fitted(rows.begin(), first);
    std::vector<WorkloadRow> kept(first, rows.end());
    for (WorkloadRow& row : kept) row.arrival -= cut;
    const Duration length = kept.back().arrival + nanoseconds(1);
    const WorkloadModel model = fit_workload(fitted, "fitted");
    const WorkloadSamples there = samples_of(kept, length);
    WorkloadCheck check{fitted.size(), kept.size(), {}};
    const std::pair<std::string_view, std::vector<double> WorkloadSamples::*> quantities[] = {
        {"time between jobs", &WorkloadSamples::gap_s},
        {"jobs an hour", &WorkloadSamples::jobs_per_h},
        {"GPUs asked for", &WorkloadSamples::gpus},
        {"time on them", &WorkloadSamples::service_s},
        {"GPU hours asked for an hour", &WorkloadSamples::gpu_h_per_h}};
    for (const auto& [name, of] : quantities) check.distances.push_back({name, 0, 0});
    for (std::uint64_t seed = 1; seed <= draws; ++seed) {
        const WorkloadSamples drawn =
            samples_of(draw_workload(model, seed, cut, length, 1), length);
        const WorkloadSamples naive = samples_of(naive_workload(fitted, seed, length), length);
        for (std::size_t i = 0; i < check.distances.size(); ++i) {
            const auto of = quantities[i].second;
            check.distances[i].fitted += largest_difference(there.*of, drawn.*of) / draws;
            check.distances[i].naive += largest_difference(there.*of, naive.*of) / draws;
        }
    }
    return check;
}

}  // namespace ukemi::traces
