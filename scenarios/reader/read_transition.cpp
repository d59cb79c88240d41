// read_transition.cpp — "transition" of the job: what changes of the group cost, phase by phase.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/link_spec.hpp"
#include "scenarios/reader/live_costs.hpp"
#include "scenarios/reader/sections.hpp"
#include "sim/job/transition_systems.hpp"

namespace ukemi::scenarios {

namespace {

// Over what is there already.
void read_change(ConfigReader& config, sim::ChangeCosts& costs) {
    const auto read = [&](std::string_view key, policies::TimeBySize& times,
                          sim::CostOrigin& from) {
        if (!config.has(key)) return;
        times = read_times_by_size(config, key, pause_longest);
        from = sim::CostOrigin::input;
    };
    read("spawn", costs.spawn, costs.spawn_from);
    read("rendezvous", costs.rendezvous, costs.rendezvous_from);
    read("warm_up", costs.warm_up, costs.warm_up_from);
}

// Of all that it says.
void set_origins(sim::TransitionCosts& costs, sim::CostOrigin from) {
    const auto said = [from](bool takes_time) { return takes_time ? from : sim::CostOrigin::none; };
    for (sim::ChangeCosts& change : costs.changes) {
        change.spawn_from = said(!change.spawn.empty());
        change.rendezvous_from = said(!change.rendezvous.empty());
        change.warm_up_from = said(!change.warm_up.empty());
    }
    costs.overlapped_spawn_from = said(costs.overlapped_spawn > Duration{});
    costs.reattach_from = said(costs.reattach > Duration{});
    costs.transfer_from = said(costs.transfer.size > Bytes{});
    costs.whole_program_from = said(costs.whole_program);
    costs.saves_first_from = said(!costs.saves_first);
}

sim::StateTransfer read_transfer(ConfigReader& config, std::optional<Bytes> model_size) {
    sim::StateTransfer transfer;
    auto own = config.object_if_present("transfer");
    if (!own) return transfer;
    if (!model_size) config.fail("transfer", "needs \"model_size\" of the job: what is sent");
    transfer.size = *model_size;
    const LinkSpec link = read_link(*own);
    transfer.bandwidth = link.bandwidth;
    transfer.latency = link.latency;
    static constexpr std::array<std::string_view, 2> senders{"one", "all"};
    transfer.from_all = own->one_of("from", senders, "one") == "all";
    own->finish();
    const double alone_s = static_cast<double>(transfer.size.raw()) / transfer.bandwidth.raw();
    if (!(alone_s < to_seconds(pause_longest) / instances_most)) {
        config.fail("transfer",
                    fmt::format("expected a model that one link carries in {}, found "
                                "{:.3g} s",
                                format_duration(Duration::of(pause_longest.raw() / instances_most)),
                                alone_s));
    }
    return transfer;
}

sim::TransitionCosts system_costs(ConfigReader& config) {
    std::vector<std::string_view> names{"custom"};
    for (const sim::TransitionSystem& system : sim::all_transition_systems())
        names.push_back(system.name);
    const std::string name = config.one_of("system", names, "custom");
    const sim::TransitionSystem* system = sim::find_transition_system(name);
    sim::TransitionCosts costs = system != nullptr ? system->costs() : sim::TransitionCosts{};
    costs.system = name;
    set_origins(costs, sim::CostOrigin::system);
    return costs;
}

// Workers start while the others train; of a first group nobody measured the phases, of the others,
// what is neither rendezvous nor transfer is warm-up. Medians, as elsewhere.
sim::TransitionCosts costs_of(const std::filesystem::path& file) {
    const LiveCosts measured = read_costs(file);
    const auto expect = [&](bool measured_at_all, const char* name) {
        if (measured_at_all) return;
        throw InputError(file.string(), name,
                         "nothing was measured: what a change of the group costs is not known");
    };
    const auto median = [&](const kernels::MeasuredTimes& times, const char* name) {
        expect(!times.s.empty(), name);
        return std::min(seconds(std::min(times.median(), 1e8)), pause_longest);
    };
    const auto by_size = [&](const TimesBySize& times, const char* name) {
        expect(!times.empty(), name);
        policies::TimeBySize medians = medians_of(times);
        for (policies::SizedTime& one : medians) one.time = std::min(one.time, pause_longest);
        return medians;
    };
    sim::TransitionCosts costs;
    costs.system = fmt::format("measured on {}", measured.device);
    costs.overlapped_spawn =
        policies::time_for_size(by_size(measured.spawn, "/spawn"), 1);  // one joins
    const auto in = [&](sim::GroupChange change) -> sim::ChangeCosts& {
        return costs.changes[static_cast<std::size_t>(change)];
    };
    const auto always = [](Duration time) { return policies::TimeBySize{{1, time}}; };
    in(sim::GroupChange::start).rendezvous = by_size(measured.restart, "/restart");
    const Duration meeting = median(measured.rendezvous, "/rendezvous");
    const Duration grown = median(measured.grow, "/grow");
    const Duration sent = std::min(median(measured.state_transfer, "/state_transfer"),
                                   std::max(grown - meeting, Duration{}));
    in(sim::GroupChange::grow).rendezvous = always(std::min(meeting, grown));
    // As long as it was, for any sender and size: all of it is latency.
    costs.transfer = {Bytes::of(1), gigabits_per_second(1'000'000), sent, false};
    in(sim::GroupChange::grow).warm_up = always(std::max(grown - meeting - sent, Duration{}));
    // In a market nearly every worker that leaves is lost, and the others have to notice it.
    const bool lost = !measured.loss.s.empty();
    const Duration shrunk =
        median(lost ? measured.loss : measured.shrink, lost ? "/loss" : "/shrink");
    in(sim::GroupChange::shrink).rendezvous = always(std::min(meeting, shrunk));
    in(sim::GroupChange::shrink).warm_up = always(std::max(shrunk - meeting, Duration{}));
    set_origins(costs, sim::CostOrigin::measured);
    return costs;
}

// From a file of `ukemi calibrate`, in place of all that is typed in otherwise.
sim::TransitionCosts measured_costs(ConfigReader& config) {
    for (const std::string_view key : {"system", "spawn", "rendezvous", "warm_up", "start", "grow",
                                       "shrink", "spawn_overlaps", "transfer"}) {
        if (!config.has(key)) continue;
        config.fail(key, "stands beside \"costs\", which says it: expected one of them");
    }
    const std::filesystem::path given = config.text("costs");
    if (given.empty()) config.fail("costs", "expected a file, found \"\"");
    const std::filesystem::path file = config.beside(given);
    sim::TransitionCosts costs = config.of_file("costs", [&] { return costs_of(file); });
    costs.file = given.string();
    return costs;
}

// What is said of all changes, then what is said of one kind alone.
void read_changes(ConfigReader& config, sim::TransitionCosts& costs) {
    sim::ChangeCosts all;
    read_change(config, all);
    const bool overlaps = config.flag("spawn_overlaps", costs.overlapped_spawn > Duration{});
    if (all.spawn.empty() && costs.overlapped_spawn > Duration{}) {
        all.spawn = {{1, costs.overlapped_spawn}};
        all.spawn_from = costs.overlapped_spawn_from;
    }
    costs.overlapped_spawn = Duration{};
    costs.overlapped_spawn_from = sim::CostOrigin::none;
    if (overlaps) {
        if (all.spawn.size() > 1) {
            config.fail("spawn", "expected one time for all sizes where \"spawn_overlaps\"");
        }
        if (all.spawn.empty()) {
            config.fail("spawn_overlaps", "needs \"spawn\": how long a worker takes to start");
        }
        costs.overlapped_spawn = policies::time_for_size(all.spawn, 1);
        costs.overlapped_spawn_from = all.spawn_from;
        all.spawn.clear();
    }
    const auto take = [](policies::TimeBySize& times, sim::CostOrigin& from,
                         const policies::TimeBySize& said, sim::CostOrigin by) {
        if (said.empty()) return;
        times = said;
        from = by;
    };
    for (std::size_t index = 0; index < sim::group_change_count; ++index) {
        sim::ChangeCosts& change = costs.changes[index];
        const bool spawns = static_cast<sim::GroupChange>(index) != sim::GroupChange::shrink ||
                            costs.whole_program;  // who leaves starts nothing
        if (spawns) take(change.spawn, change.spawn_from, all.spawn, all.spawn_from);
        take(change.rendezvous, change.rendezvous_from, all.rendezvous, all.rendezvous_from);
        take(change.warm_up, change.warm_up_from, all.warm_up, all.warm_up_from);
        if (overlaps) {
            change.spawn.clear();
            change.spawn_from = sim::CostOrigin::none;
        }
        auto own = config.object_if_present(sim::group_change_names[index]);
        if (!own) continue;
        read_change(*own, change);
        own->finish();
    }
}

}  // namespace

std::optional<sim::TransitionCosts> read_transition_costs(ConfigReader& section,
                                                          std::optional<Bytes> model_size) {
    auto config = section.object_if_present("transition");
    if (!config) return std::nullopt;
    const bool measured = config->has("costs");
    sim::TransitionCosts costs = measured ? measured_costs(*config) : system_costs(*config);
    static constexpr std::array<std::string_view, 2> scopes{"members", "whole_program"};
    costs.whole_program =
        config->one_of("restarts", scopes, scopes[costs.whole_program ? 1 : 0]) == scopes[1];
    costs.saves_first = config->flag("saves_first", costs.saves_first);
    const auto typed = [&](std::string_view key, sim::CostOrigin& from) {
        if (config->has(key)) from = sim::CostOrigin::input;
    };
    typed("restarts", costs.whole_program_from);
    typed("saves_first", costs.saves_first_from);
    typed("reattach", costs.reattach_from);
    typed("transfer", costs.transfer_from);
    costs.reattach =
        bounded_duration(*config, "reattach", Duration{}, pause_longest, costs.reattach);
    if (!measured) {
        read_changes(*config, costs);
        costs.transfer = read_transfer(*config, model_size);
    }
    config->finish();
    return costs;
}

void read_transition(ConfigReader& job_config, std::optional<Bytes> model_size, sim::JobSpec& job) {
    auto costs = read_transition_costs(job_config, model_size);
    if (!costs) return;
    for (const std::string_view key : {"restart", "resize", "spawn"}) {
        if (!job_config.has(key)) continue;
        job_config.fail(key, "stands beside \"transition\", which says the same in more detail");
    }
    job.transition = std::move(costs);
}

// What policies expect: the totals at the job's full size, of which half has the model already.
void expect_transitions(sim::JobSpec& job) {
    if (!job.transition) return;
    const sim::TransitionCosts& costs = *job.transition;
    const std::int32_t most = job.instances_max;
    const std::int32_t holders = std::max(most / 2, 1);
    job.profile.spawn = costs.overlapped_spawn;
    job.profile.restart =
        records::sum_of(sim::phase_times(costs, sim::GroupChange::start, most, 0));
    const sim::GroupChange change =
        costs.whole_program ? sim::GroupChange::start : sim::GroupChange::grow;
    job.profile.resize = records::sum_of(sim::phase_times(costs, change, most, holders));
}

}  // namespace ukemi::scenarios
