// read_links.cpp — "links" of the job: what is between hosts that are unequally far from each
// other.
#include <fmt/format.h>

#include <algorithm>

#include "scenarios/reader/live_costs.hpp"
#include "scenarios/reader/sections.hpp"

namespace ukemi::scenarios {

namespace {

constexpr std::int32_t hosts_most = 64;

// Of the largest group.
std::int32_t hosts_for(const Scenario& scenario) {
    const std::int32_t on_each = scenario.job.profile.links.workers_per_host;
    return (scenario.job.instances_max + on_each - 1) / on_each;
}

policies::LinkView read_way(ConfigReader& config) {
    policies::LinkView link;
    link.round_trip = bounded_duration(config, "round_trip", Duration{}, step_longest);
    link.bytes_per_second = config.bandwidth("bandwidth").raw();
    if (!(link.bytes_per_second > 0)) config.fail("bandwidth", "expected more than nothing");
    return link;
}

// All alike, and then those that are not.
std::vector<policies::LinkView> read_ways(ConfigReader& config, const Scenario& scenario) {
    const std::int32_t hosts = hosts_for(scenario);
    const policies::LinkView usual = read_way(config);
    std::vector<policies::LinkView> links;
    for (std::int32_t host = 0; host < hosts; ++host) {
        for (std::int32_t other = host + 1; other < hosts; ++other) {
            links.push_back({host, other, usual.round_trip, usual.bytes_per_second});
        }
    }
    if (!config.has("between")) return links;
    for (ConfigReader& one : config.objects("between")) {
        policies::LinkView link = read_way(one);
        link.host = static_cast<std::int32_t>(one.integer("host", 0, hosts_most - 2));
        link.other = static_cast<std::int32_t>(one.integer("other", 1, hosts_most - 1));
        if (link.other <= link.host || link.other >= hosts) {
            one.fail(
                "other",
                fmt::format("{} and {} are no pair of hosts: expected two of 0 to {}, \"host\" "
                            "the lower one; {} workers are on {} hosts",
                            link.host, link.other, hosts - 1, scenario.job.instances_max, hosts));
        }
        *std::ranges::find_if(links, [&](const policies::LinkView& known) {
            return known.host == link.host && known.other == link.other;
        }) = link;
        one.finish();
    }
    return links;
}

// A step has the ring in it.
void expect_shorter_rings(ConfigReader& config, const Scenario& scenario) {
    const policies::JobProfile& profile = scenario.job.profile;
    const std::int32_t fewest = std::max(scenario.job.workers_min, 2);
    for (std::int32_t workers = fewest; workers <= scenario.job.instances_max; ++workers) {
        const Duration ring = policies::ring_over_hosts(profile.links, workers);
        const Duration step =
            policies::time_for(policies::rate_of(profile, scenario.job.plan, workers), 1);
        if (ring < step || ring == Duration{}) continue;
        config.fail("", fmt::format("a ring of {} workers takes {:.6g} s over these links, and a "
                                    "step, which has it in it, {:.6g} s",
                                    workers, to_seconds(ring), to_seconds(step)));
    }
}

}  // namespace

void read_links(ConfigReader& job, Scenario& scenario) {
    auto config = job.object_if_present("links");
    if (!config) return;
    for (const std::string_view key : {"step_time", "communication", "learner_speeds"}) {
        if (!job.has(key)) continue;
        config->fail("", fmt::format("stands beside \"{}\": expected one of them", key));
    }
    policies::JobProfile& profile = scenario.job.profile;
    policies::HostLinks& links = profile.links;
    links.message = config->bytes("message");
    if (links.message.raw() < 1) config->fail("message", "expected at least 1 B");
    links.workers_per_host =
        static_cast<std::int32_t>(config->integer("workers_per_host", 1, instances_most, 1));
    const std::int32_t hosts = hosts_for(scenario);
    if (hosts < 2 || hosts > hosts_most) {
        config->fail(
            "", fmt::format("expected 2 to {} hosts, found {}: {} workers, {} on each", hosts_most,
                            hosts, scenario.job.instances_max, links.workers_per_host));
    }
    scenario.links_of_costs = !scenario.costs.empty() && !config->has("round_trip");
    if (!scenario.links_of_costs) links.links = read_ways(*config, scenario);
    config->finish();
    if (!profile.throughput.empty()) expect_shorter_rings(*config, scenario);
}

std::vector<policies::LinkView> measured_links(const LiveCosts& costs, const Scenario& scenario,
                                               double time_scale,
                                               const std::filesystem::path& file) {
    const std::int32_t hosts = hosts_for(scenario);
    std::vector<policies::LinkView> links;
    for (const LinkCosts& link : costs.links) {
        if (link.other >= hosts) continue;
        const double mebibyte_s = std::max(link.mebibyte.median(), 1e-9) * time_scale;
        const double round_trip_s =
            std::clamp(link.round_trip.median() * time_scale, 0.0, to_seconds(step_longest));
        links.push_back({link.host, link.other, seconds(round_trip_s),
                         static_cast<double>(1 << 20) / mebibyte_s});
    }
    if (!policies::is_of_all_pairs(links) || links.back().other != hosts - 1) {
        throw InputError(
            file.string(), "/links",
            fmt::format("expected what is between each two of {} hosts, found {} of them: "
                        "`ukemi calibrate --hosts` measures it",
                        hosts, links.size()));
    }
    return links;
}

}  // namespace ukemi::scenarios
