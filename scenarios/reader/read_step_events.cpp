// read_step_events.cpp — links that change, workers that leave.
#include "scenarios/reader/read_step_events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/input_error.hpp"
#include "sim/step/step_run.hpp"

namespace ukemi::scenarios {
namespace {

Instant instant_of(ConfigReader& config, std::string_view key) {
    const Duration at = config.duration(key);
    if (at > days(30)) config.fail(key, "expected at most 30 d");
    return Instant::at(at);
}

sim::MachineId read_machine(ConfigReader& config, const sim::Topology& topology) {
    const auto machines = static_cast<std::int64_t>(topology.machines().size());
    return static_cast<sim::MachineId>(config.integer("machine", 0, machines - 1));
}

struct LinkSpell {
    sim::MachineId machine{};
    Instant at;
    Instant until;
};

// All of a machine's network links, both ways. Spells of one machine do not overlap: the end of one
// would end the other.
void read_links(ConfigReader& config, const sim::Topology& topology, std::vector<LinkSpell>& spells,
                sim::StepEvents& events) {
    const Instant at = instant_of(config, "at");
    const sim::MachineId machine = read_machine(config, topology);
    const double share = config.number("share", 0, 1);
    const bool ends = config.has("until");
    const Instant until = ends ? instant_of(config, "until") : Instant::never();
    if (until <= at) config.fail("until", "expected later than \"at\"");
    for (const LinkSpell& other : spells) {
        if (other.machine != machine || at >= other.until || other.at >= until) continue;
        config.fail("at", "overlaps another event of this machine");
    }
    spells.push_back({machine, at, until});
    for (std::size_t i = 0; i < topology.links().size(); ++i) {
        const sim::Link& link = topology.links()[i];
        if (link.kind != sim::LinkKind::network || (topology.device(link.from).machine != machine &&
                                                    topology.device(link.to).machine != machine)) {
            continue;
        }
        const auto number = static_cast<sim::LinkId>(i);
        events.links.push_back({at, number, BytesPerSecond::of(share * link.bandwidth.raw())});
        // First, so that a change at the same instant comes after it.
        if (ends) events.links.insert(events.links.begin(), {until, number, link.bandwidth});
    }
}

std::size_t job_of(ConfigReader& config, const StepScenario& scenario) {
    if (scenario.jobs.size() == 1 && !config.has("job")) return 0;
    std::vector<std::string_view> names;
    for (const StepJobEntry& entry : scenario.jobs) names.push_back(entry.job.name);
    const std::string name = config.one_of("job", names);
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
}

std::vector<std::int32_t> read_ranks(ConfigReader& config, const sim::Topology& topology,
                                     const sim::StepJob& job) {
    if (config.has("worker") == config.has("machine")) {
        config.fail("", "expected either \"worker\" or \"machine\" to say who leaves");
    }
    if (config.has("worker")) {
        const auto most = static_cast<std::int64_t>(job.workers.size()) - 1;
        return {static_cast<std::int32_t>(config.integer("worker", 0, most))};
    }
    const sim::MachineId machine = read_machine(config, topology);
    std::vector<std::int32_t> ranks;
    for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
        if (topology.device(job.workers[rank]).machine == machine) {
            ranks.push_back(static_cast<std::int32_t>(rank));
        }
    }
    for (const sim::DeviceId server : job.servers) {
        if (topology.device(server).machine != machine) continue;
        config.fail("machine",
                    fmt::format("holds variables of {}, which cannot go on without", job.name));
    }
    if (ranks.empty()) {
        config.fail("machine", fmt::format("expected a machine with workers of {}", job.name));
    }
    return ranks;
}

bool all_there(const sim::StepJob& job, std::span<const std::int32_t> first_ranks) {
    return std::ranges::all_of(first_ranks, [&](std::int32_t first) {
        if (job.departures == 0) return true;
        return std::ranges::find(job.first_ranks, first) != job.first_ranks.end();
    });
}

// Those who are left after each departure must be able to go on.
void check_departures(const ConfigReader& config, const StepScenario& scenario,
                      std::span<const sim::Departure> departures) {
    std::vector<sim::StepJob> jobs;
    for (const StepJobEntry& entry : scenario.jobs) jobs.push_back(entry.job);
    for (const sim::Departure& departure : departures) {
        sim::StepJob& job = jobs[departure.job];
        if (job.workload) {
            config.fail("events",
                        fmt::format("{} plays a workload, which nobody may leave", job.name));
        }
        const auto left = sim::ranks_left(job, departure.ranks);
        if (!all_there(job, departure.ranks)) {
            config.fail("events",
                        fmt::format("a worker of {} leaves that is there no more", job.name));
        }
        if (left.empty()) {
            config.fail("events", fmt::format("no {} of {} would be left",
                                              job.layout ? "replica" : "worker", job.name));
        }
        job = sim::without(job, scenario.topology, departure.ranks, 0);
        if (job.layout && job.layout->expert_holders() % job.layout->expert != 0) {
            config.fail("events",
                        fmt::format("those who are left of {} cannot go on: {} ranks hold "
                                    "experts that are divided among {}",
                                    job.name, job.layout->expert_holders(), job.layout->expert));
        }
        try {
            sim::expect_playable(scenario.topology, job);
        } catch (const InputError& error) {
            const char* hint = job.layout ? "" : "; name a \"collective\" that can, such as ring";
            config.fail("events", fmt::format("those who are left of {} cannot go on: {}{}",
                                              job.name, error.what(), hint));
        }
    }
}

}  // namespace

sim::StepEvents read_step_events(ConfigReader& root, const StepScenario& scenario) {
    sim::StepEvents events;
    std::vector<LinkSpell> spells;
    if (!root.has("events")) return events;
    static constexpr std::array<std::string_view, 2> kinds{"links", "leave"};
    for (ConfigReader& config : root.objects("events")) {
        if (config.one_of("kind", kinds) == "links") {
            read_links(config, scenario.topology, spells, events);
        } else {
            sim::Departure departure;
            departure.at = instant_of(config, "at");
            departure.job = job_of(config, scenario);
            const StepJobEntry& entry = scenario.jobs[departure.job];
            const sim::StepJob& job = entry.job;
            if (job.asynchronous || entry.request.split_dense) {
                config.fail("", fmt::format("{} cannot go on with fewer workers: they do not wait "
                                            "for each other, or layers are split over them",
                                            job.name));
            }
            if (entry.request.shard != sim::Shard::none) {
                config.fail("", fmt::format("{} cannot go on with fewer workers: each holds a part "
                                            "of what they divide (\"shard\")",
                                            job.name));
            }
            departure.ranks = read_ranks(config, scenario.topology, job);
            departure.delay = config.duration("delay");
            if (departure.delay > days(30)) config.fail("delay", "expected at most 30 d");
            events.departures.push_back(std::move(departure));
        }
        config.finish();
    }
    std::ranges::stable_sort(events.departures, {}, &sim::Departure::at);
    check_departures(root, scenario, events.departures);
    return events;
}

}  // namespace ukemi::scenarios
