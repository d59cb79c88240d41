// recorded_stretches_test.cpp — markets of recorded stretches: as near to a zone that was kept back
// as the other zones are themselves, and short together as these were.
#include "traces/recorded_stretches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/recorded.hpp"
#include "tests/traces/fixture.hpp"
#include "traces/market_file.hpp"
#include "traces/market_fit.hpp"
#include "traces/market_statistics.hpp"

using namespace ukemi;
using namespace ukemi::traces;

namespace {

using Zones = std::vector<TraceSeries>;

// The greatest difference of two distributions (Kolmogorov and Smirnov); both lists are sorted.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
    double most = 0;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < a.size() && j < b.size()) {
        const double x = std::min(a[i], b[j]);
        while (i < a.size() && a[i] <= x) ++i;
        while (j < b.size() && b[j] <= x) ++j;
        const double difference = static_cast<double>(i) / static_cast<double>(a.size()) -
                                  static_cast<double>(j) / static_cast<double>(b.size());
        most = std::max(most, std::abs(difference));
    }
    return most;
}

struct Runs {
    std::vector<double> up_h;
    std::vector<double> down_h;
};
Runs runs_of(const Zones& series) {
    Runs all;
    for (const TraceSeries& one : series) {
        const AvailabilityDetail detail = detail_of(*one.availability);
        all.up_h.insert(all.up_h.end(), detail.up_runs_h.begin(), detail.up_runs_h.end());
        all.down_h.insert(all.down_h.end(), detail.down_runs_h.begin(), detail.down_runs_h.end());
    }
    std::ranges::sort(all.up_h);
    std::ranges::sort(all.down_h);
    return all;
}

// Exponential, at its quantiles: all the time with any machines, or with none, over how often it
// ended. Runs that a record cuts off are part of that time.
std::vector<double> memoryless(const Zones& series, bool up) {
    double time_h = 0;
    double ends = 0;
    for (const TraceSeries& one : series) {
        const auto& steps = one.availability->steps;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            if ((steps[i].value > 0) != up) continue;
            time_h += to_hours(end_of_step(*one.availability, i) - steps[i].at);
            if (i + 1 < steps.size() && (steps[i + 1].value > 0) != up) ++ends;
        }
    }
    std::vector<double> made;
    constexpr int many = 1000;
    for (int i = 0; i < many; ++i) {
        made.push_back(-std::log(1 - (i + 0.5) / many) * time_h / ends);
    }
    return made;
}

MarketParameters set_to(const Zones& series, Duration sampling, Duration stretch) {
    FitOptions options;
    options.name = options.source = "others";
    options.sampling = sampling;
    options.stretch = stretch;
    return fit_market(series, {}, options).parameters;
}

struct Family {
    std::string name;
    Zones zones;
    Duration sampling;
};

std::vector<Family> families() {
    std::vector<Family> all;
    const auto data = *recorded_data();
    // Files of the folder whose names hold the text, as one family: zones of one kind of machine.
    const auto add = [&](const char* name, const char* folder, const char* holds) {
        Family family{name, {}, {}};
        if (!std::filesystem::exists(data / folder)) return;
        std::vector<std::filesystem::path> files;
        for (const auto& entry : std::filesystem::directory_iterator(data / folder)) {
            if (entry.path().filename().string().find(holds) != std::string::npos) {
                files.push_back(entry.path());
            }
        }
        std::ranges::sort(files);
        for (const auto& file : files) {
            const Trace trace = read_trace(file);
            family.sampling = std::max(family.sampling, trace.report.sampling);
            for (TraceSeries one : trace.series) {
                if (!one.availability) continue;
                if (one.zone.empty()) one.zone = trace.name.substr(0, trace.name.find('_'));
                family.zones.push_back(std::move(one));
            }
        }
        if (family.zones.size() >= 2) all.push_back(std::move(family));
    };
    add("one V100, February 2023", "skynomad/v100_aws_1node_avail", "us-");
    add("16 H100", "skynomad/h100_gcp_16node", "probe_counts");
    add("16 V100", "skynomad/v100_aws_multinode/16-nodes", "v100");
    add("4 V100", "skynomad/v100_aws_multinode/4-nodes-real-preemption", "v100");
    for (const char* month : {"2022-10-26T22-05", "2022-11-28T22-23"}) {
        for (const char* kind : {"k80_1", "k80_8", "v100_1", "v100_8"}) {
            const std::string folder = fmt::format("skypilot_spot_strategy/{}", month);
            add(fmt::format("{} {}", kind, month).c_str(), folder.c_str(), kind);
        }
    }
    add("processors, losses", "skypilot_spot_traces/preemption/1-node/aws-04-19-2023", "intel");
    add("one V100, losses", "skypilot_spot_traces/preemption/1-node/aws-04-22-2023", "v100");
    for (const char* kind : {"k80", "p100", "v100"}) {
        add(fmt::format("{} 2019", kind).c_str(), "training_on_a_dime/gcp", kind);
    }
    return all;
}

}  // namespace

TEST_CASE("recorded stretches: run lengths of a zone that was kept back", "[stretches][recorded]") {
    int compared = 0;
    for (const Family& family : families()) {
        struct Sums {
            double others = 0, stretches = 0, chain = 0, poisson = 0;
        };
        Sums sums[2];
        int kept = 0;
        for (std::size_t out = 0; out < family.zones.size(); ++out) {
            Zones others = family.zones;
            others.erase(others.begin() + static_cast<std::ptrdiff_t>(out));
            const Runs held_out = runs_of({family.zones[out]});
            if (held_out.up_h.size() < 5 || held_out.down_h.size() < 5) continue;
            const Runs pooled = runs_of(others);
            if (pooled.up_h.empty() || pooled.down_h.empty()) continue;
            ++kept;
            const auto zones = static_cast<std::int32_t>(others.size());
            // Whole runs, in windows as long as the record that was kept back.
            const auto runs_in_windows = [&](Duration stretch) {
                const MarketParameters set = set_to(others, family.sampling, stretch);
                return runs_of(windows_like({&family.zones[out], 1},
                                            generate_market(set, 1, zones, days(200))));
            };
            const Runs stretched = runs_in_windows(days(3));
            const Runs chained = runs_in_windows({});
            const auto add = [&](Sums& sum, std::vector<double> Runs::*kind) {
                sum.others += distance(pooled.*kind, held_out.*kind);
                sum.stretches += distance(stretched.*kind, held_out.*kind);
                sum.chain += distance(chained.*kind, held_out.*kind);
                sum.poisson += distance(memoryless(others, kind == &Runs::up_h), held_out.*kind);
            };
            add(sums[0], &Runs::up_h);
            add(sums[1], &Runs::down_h);
        }
        if (kept == 0) continue;
        ++compared;
        for (int kind = 0; kind < 2; ++kind) {
            const Sums& sum = sums[kind];
            fmt::print(
                "{}, {} runs, {} zones kept back: distance of other zones {:.3f}, their "
                "stretches {:.3f}, a chain set to them {:.3f}, naive Poisson {:.3f}\n",
                family.name, kind == 0 ? "up" : "down", kept, sum.others / kept,
                sum.stretches / kept, sum.chain / kept, sum.poisson / kept);
            CHECK(sum.stretches < sum.others + 0.03 * kept);
            CHECK(sum.stretches < sum.poisson + 0.001 * kept);
        }
    }
    CHECK(compared >= 4);  // 13 with all that was recorded
}

TEST_CASE("recorded stretches: zones of a region are short together as they were",
          "[stretches][recorded]") {
    for (const Family& family : families()) {
        const auto of_regions = [](const Zones& series) {
            std::map<std::string_view, Zones> regions;
            for (const TraceSeries& one : series) regions[region_of_zone(one.zone)].push_back(one);
            double sum = 0;
            int found = 0;
            for (const auto& [_, zones] : regions) {
                if (const auto mean = mean_correlation(zones)) {
                    sum += *mean;
                    ++found;
                }
            }
            return found == 0 ? 0 : sum / found;
        };
        const double recorded = of_regions(family.zones);
        const MarketParameters set = set_to(family.zones, family.sampling, days(1));
        double generated = 0;
        constexpr int seeds = 5;
        for (int seed = 1; seed <= seeds; ++seed) {
            generated += of_regions(generate_market(set, static_cast<std::uint64_t>(seed),
                                                    static_cast<std::int32_t>(family.zones.size()),
                                                    days(120))) /
                         seeds;
        }
        fmt::print("{}: correlation within a region recorded {:.2f}, in stretches {:.2f}\n",
                   family.name, recorded, generated);
        CHECK(generated == Approx(recorded).margin(0.06));
    }
}

TEST_CASE("recorded stretches: a file of them reads back equal, and the same seed makes the same",
          "[stretches]") {
    const auto zone = [](std::string name, std::string start, std::vector<std::int32_t> held) {
        TraceSeries one;
        one.zone = std::move(name);
        one.start = std::move(start);
        one.availability.emplace();
        for (std::size_t i = 0; i < held.size(); ++i) {
            one.availability->steps.push_back(
                {Instant::at(static_cast<std::int64_t>(10 * i) * minutes(1)), held[i]});
        }
        one.availability->end =
            Instant::at(static_cast<std::int64_t>(10 * held.size()) * minutes(1));
        return one;
    };
    const Zones recorded{zone("us-east-1a", "2023-02-15T00:00:00Z", {2, 0, 1, 0, 2}),
                         zone("us-east-1b", "2023-02-15T00:10:00Z", {1, 0, 2, 1}),
                         zone("eu-west-1a", "2023-02-15T00:00:00Z", {0, 1, 0})};
    const MarketParameters set = set_to(recorded, minutes(10), minutes(30));
    REQUIRE(set.recorded.zones.size() == 3);
    CHECK(set.recorded.zones[1].begins_s == 600);
    CHECK(set.recorded.zones[1].at_s == std::vector<std::int64_t>{0, 600, 1200, 1800});
    const MarketParameters again = read_market_parameters_text(to_json(set), "again.json");
    CHECK(to_json(again) == to_json(set));
    const Zones made = generate_market(set, 3, 3, days(3));
    CHECK(generate_market(again, 3, 3, days(3))[2].availability == made[2].availability);
    CHECK(generate_market(set, 3, 1, days(3))[0].availability == made[0].availability);
    CHECK(generate_market(set, 4, 1, days(3))[0].availability != made[0].availability);
    for (const TraceSeries& one : made) {
        for (const auto& step : one.availability->steps) {
            CHECK(step.value <= 2);
        }
    }
}
