// read_collective.cpp — a schedule by name, the cheapest, a grid that is searched, or NCCL's.
#include "scenarios/reader/read_collective.hpp"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <utility>

#include "base/input_error.hpp"
#include "scenarios/reader/nccl_words.hpp"
#include "scenarios/reader/read_step_codec.hpp"
#include "scenarios/reader/read_step_layout.hpp"
#include "sim/cluster/nccl/nccl_place.hpp"
#include "sim/cluster/routes.hpp"
#include "sim/step/collective_choice.hpp"
#include "sim/step/dimension_search.hpp"
#include "sim/step/gradient_lanes.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi::scenarios {

namespace {

// Those that add up their gradients: all workers, or those who hold what a layout's first does.
std::vector<sim::DeviceId> replicas_of(const sim::StepJob& job) {
    if (!job.layout) return job.workers;
    return job.layout->adders_of(job.workers, 0, 0);
}

void read_algorithms(ConfigReader& config, sim::StepJob& job) {
    static constexpr std::array<std::string_view, 2> algorithms{"all", "ring"};
    if (job.nccl) {
        job.nccl_ring_only = config.one_of("nccl_algorithms", algorithms, "all") == "ring";
    } else if (config.has("nccl_algorithms")) {
        config.fail("nccl_algorithms", "goes with \"collective\": \"nccl\"");
    }
}

struct ServedRanks {
    const sim::Topology& topology;
    std::span<const sim::DeviceId> workers;
    std::int32_t per_host;
    std::string_view where;
};

// Each group that sums gradients of its own.
bool all_can_play(const sim::Topology& topology, const sim::StepJob& job,
                  policies::Collective algorithm) {
    if (!job.layout) return true;
    const policies::Layout& degrees = job.layout->degrees;
    for (std::int32_t stage_rank = 0; stage_rank < degrees.pipeline; ++stage_rank) {
        for (std::int32_t tensor = 0; tensor < degrees.tensor; ++tensor) {
            const std::vector<sim::DeviceId> group =
                job.layout->adders_of(job.workers, tensor, stage_rank);
            const std::int32_t each = sim::workers_per_machine(topology, group);
            if (!sim::refusal_of(algorithm, job.layout->adders(), each).empty()) return false;
        }
    }
    return true;
}

// The grid that is searched, or the cheapest schedule, for what is added up; a ring where messages
// are gathered alone, or nothing is.
void choose_schedule(const ServedRanks& ranks, bool searched,
                     std::span<const sim::GradientBucket> added_up, bool gathers,
                     StepJobEntry& entry) {
    sim::StepJob& job = entry.job;
    const bool cheapest = job.collective == policies::Collective::automatic;
    if (added_up.empty()) {
        const bool chosen = searched || cheapest;
        if (gathers) {
            entry.why = "messages are gathered in rings: nothing is added up on the way";
        } else if (chosen) {
            entry.why = "nothing is added up";
        }
        if (chosen) job.collective = policies::Collective::ring;
    } else if (searched) {
        job.searched_message = sim::mean_message(added_up);
        const sim::SearchedDimensions found = sim::search_dimensions(
            ranks.topology, ranks.workers, ranks.per_host, job.searched_message, ranks.where);
        sim::choose_dimensions(job, found);
        entry.searched = true;
        entry.why = sim::words_of(found);
    } else if (cheapest) {
        auto priced = sim::price_collectives(ranks.topology, ranks.workers, ranks.per_host,
                                             added_up, ranks.where);
        std::erase_if(priced, [&](const sim::PricedCollective& one) {
            return !all_can_play(ranks.topology, job, one.algorithm);
        });
        job.collective = priced.front().algorithm;
        entry.cheapest = true;
        entry.why = sim::reason_for(priced);
    }
}

}  // namespace

void read_transport(ConfigReader& config, bool by_name, StepJobEntry& entry) {
    if (!config.has("transport")) return;
    sim::StepJob& job = entry.job;
    sim::HostTransport hosts;
    if (config.is_object("transport")) {
        ConfigReader section = config.object("transport");
        const auto rate = [&](std::string_view key, double& value) {
            if (section.has(key)) value = section.bandwidth(key).raw();
            if (!(value > 0)) section.fail(key, "expected a bandwidth above 0");
        };
        rate("connection", hosts.connection);
        rate("memory", hosts.memory);
        rate("buffer", hosts.buffer);
        rate("sum", hosts.sum);
        rate("device", hosts.device);
        hosts.round_trips =
            static_cast<std::int32_t>(section.integer("round_trips", 0, 1000, hosts.round_trips));
        hosts.jitter = section.duration("jitter", {});
        if (hosts.jitter > seconds(1)) section.fail("jitter", "expected at most 1 s");
        section.finish();
    } else {
        static constexpr std::array<std::string_view, 2> names{"gpu", "host"};
        if (config.one_of("transport", names, "gpu") == "gpu") return;
    }
    if (!by_name) {
        config.fail("transport",
                    "goes with a schedule by name: expected \"collective\": \"ring\", "
                    "\"binary_tree_star\" or another that is not nccl, cheapest or searched");
    }
    if (job.layout || job.workload) {
        refuse_beside(entry.request, config, "transport",
                      "is for whole gradients of models that are not cut");
    }
    if (entry.codec.name != "none") {
        config.fail("transport", fmt::format("sends gradients as they are: expected no \"codec\", "
                                             "found {}",
                                             entry.codec.name));
    }
    job.hosts = hosts;
    // What goes to servers or to a partner does not travel in a buffer with others.
    const bool fused = job.servers.empty() && job.pair_model == Bytes{};
    job.launch.copy_s_per_byte = hosts.device_s_per_byte();
    if (fused) job.launch.buffer_s_per_byte = hosts.buffer_s_per_byte();
}

std::string_view usual_collective(const sim::Topology& topology,
                                  std::span<const sim::DeviceId> workers, bool nccl_log,
                                  std::string_view otherwise) {
    if (sim::nccl_is_usual(topology, workers)) return nccl_collective;
    if (!nccl_log || workers.size() < 2 || topology.machines().front().preset.empty()) {
        return otherwise;
    }
    try {
        sim::Routes routes(topology);
        sim::nccl_place(topology, routes, workers, "");
        return nccl_collective;
    } catch (const InputError&) {  // it does not run on these
        return otherwise;
    }
}

// What those take who have the same experts, if the job's algorithm is not for so few.
std::string words_of_experts(const sim::Topology& topology, const sim::StepJob& job) {
    if (!job.layout || job.layout->expert == 1 || job.layout->expert == job.layout->adders()) {
        return {};
    }
    const auto groups = job.layout->experts_adders(job.workers, 0, 0);
    const auto ranks = static_cast<std::int32_t>(groups.front().size());
    const std::int32_t each = sim::workers_per_machine(topology, groups.front());
    if (ranks < 2 || sim::all_reduce_of(job, ranks, each) == job.collective) return {};
    return fmt::format("the {} workers that have the same experts take a ring: {} is not for them",
                       ranks,
                       policies::collective_names()[static_cast<std::size_t>(job.collective)]);
}

std::string_view why_collective(const StepJobEntry& entry) {
    if (entry.nccl_by_log) return " (as the log that links are fitted to)";
    if (entry.usual_nccl) return " (as usual on machines with NVLink)";
    if (entry.cheapest) return " (the cheapest)";
    return entry.searched ? " (found by dimension search)" : "";
}

// What all groups take, in words; and what its replicas stand on.
void place_nccl(const sim::Topology& topology, const std::vector<sim::DeviceId>& replicas,
                std::string_view where, StepJobEntry& entry) {
    sim::StepJob& job = entry.job;
    if (replicas.size() > 1 && (job.layout || !job.buckets.empty())) {
        sim::Routes routes(topology);
        sim::NcclPlace place = sim::nccl_place(topology, routes, replicas, where);
        place.ring_only = job.nccl_ring_only;
        job.nccl_place =
            std::make_shared<const sim::NcclRanks>(sim::NcclRanks{replicas, std::move(place)});
    }
    entry.why = nccl_words(topology, job, where);
}

void read_collective(ConfigReader& config, const sim::Topology& topology,
                     std::string_view otherwise, StepJobEntry& entry) {
    sim::StepJob& job = entry.job;
    std::vector<std::string_view> names(policies::collective_names().begin(),
                                        policies::collective_names().end());
    names[static_cast<std::size_t>(policies::Collective::automatic)] = cheapest_collective;
    names.push_back(nccl_collective);
    names.push_back(searched_collective);
    const std::vector<sim::DeviceId> replicas = replicas_of(job);
    if (config.has("transport")) otherwise = "ring";  // where nothing is said of the collective
    const auto chosen = config.choice<std::size_t>("collective", names, otherwise);
    job.nccl = names[chosen] == nccl_collective;
    entry.usual_nccl = job.nccl && !config.has("collective");
    entry.nccl_by_log = entry.usual_nccl && !sim::nccl_is_usual(topology, job.workers);
    if (job.nccl && topology.machines().front().preset.empty()) {
        config.fail("collective", "nccl knows machines, and no network of ASTRA-sim's");
    }
    const bool searched = names[chosen] == searched_collective;
    job.collective = job.nccl || searched ? policies::Collective::ring
                                          : static_cast<policies::Collective>(chosen);
    read_algorithms(config, job);
    read_transport(
        config, !job.nccl && !searched && job.collective != policies::Collective::automatic, entry);
    job.per_host = sim::workers_per_machine(topology, job.workers);
    const std::string where = config.place_of("collective");
    if (job.nccl && job.workers.size() > 1) place_nccl(topology, replicas, where, entry);
    if (job.nccl || replicas.size() < 2 || (!job.layout && job.buckets.empty())) return;
    const std::int32_t per_host = sim::workers_per_machine(topology, replicas);
    const std::vector<sim::GradientBucket> buckets =
        job.layout ? job.layout->stages.front().buckets : parts_on(job, sim::all_reduce_lane);
    const std::vector<sim::GradientBucket> gathered = parts_on(job, sim::gather_lane);
    if (entry.request.shard != sim::Shard::none) {
        if (searched || (job.collective != policies::Collective::automatic &&
                         job.collective != policies::Collective::ring)) {
            config.fail("collective",
                        "replicas that divide what they hold (\"shard\") send in rings: expected "
                        "ring or nccl");
        }
        job.collective = policies::Collective::ring;
        return;
    }
    const ServedRanks ranks{topology, replicas, per_host, where};
    choose_schedule(ranks, searched, buckets, !gathered.empty(), entry);
    const std::string of_experts = words_of_experts(topology, job);
    if (!of_experts.empty()) entry.why += (entry.why.empty() ? "" : "; ") + of_experts;
    sim::ClusterNetwork network(topology);
    const sim::PlacedCollective placed(network, job.collective, replicas, per_host, where, 1,
                                       job.hosts ? &*job.hosts : nullptr);
    if (entry.request.synchronised_norm) {
        const std::array sums = {sim::GradientBucket{"norm", bytes(4096)}};  // of 512 channels
        job.layout->exchange_collective =
            sim::price_collectives(topology, replicas, per_host, sums, where).front().algorithm;
    }
}

}  // namespace ukemi::scenarios
