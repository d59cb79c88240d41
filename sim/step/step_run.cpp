// step_run.cpp — a player for each job, and cross traffic beside them.
#include "sim/step/step_run.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/invariant.hpp"
#include "sim/step/async_player.hpp"
#include "sim/step/data_parallel_player.hpp"
#include "sim/step/dimension_search.hpp"
#include "sim/step/layout_player.hpp"
#include "sim/step/pair_player.hpp"
#include "sim/step/workload_player.hpp"

namespace ukemi::sim {
namespace {

std::unique_ptr<StepPlayer> player_of(StepHost& host, const StepJob& job,
                                      const StepOptions& options) {
    INVARIANT(!job.workers.empty() && job.compute.size() == job.workers.size());
    INVARIANT(job.steps >= 1 && job.accumulation >= 1);
    if (job.workload) return std::make_unique<WorkloadPlayer>(host, job, options);
    if (job.pair_model > Bytes{}) return std::make_unique<PairPlayer>(host, job, options);
    if (job.asynchronous) return std::make_unique<AsyncPlayer>(host, job, options);
    if (job.layout) return std::make_unique<LayoutPlayer>(host, job, options);
    return std::make_unique<DataParallelPlayer>(host, job, options);
}

void add_cross_traffic(ClusterNetwork& network, std::span<const CrossTraffic> all) {
    for (const CrossTraffic& one : all) {
        const RouteId route = network.flows().add_route(network.routes().route(one.from, one.to));
        for (std::int64_t i = 0; i < one.flows; ++i) {
            network.flows().start(route, FlowNetwork::endless, UINT64_MAX);
        }
    }
}

std::int32_t first_rank(const StepJob& job, std::size_t rank) {
    return job.first_ranks.empty() ? static_cast<std::int32_t>(rank) : job.first_ranks[rank];
}

// One job through all its memberships.
struct Members {
    std::unique_ptr<StepJob> job;
    JobSteps before;  // of former memberships
    Instant begins;   // anew, not before
};

void append(JobSteps& all, JobSteps more) {
    for (StepRecord& step : more.steps) all.steps.push_back(std::move(step));
    if (!more.collective.empty()) all.collective = std::move(more.collective);
    all.exact += more.exact;
    all.fluid += more.fluid;
    all.nccl += more.nccl;
    all.links.insert(all.links.end(), more.links.begin(), more.links.end());
    std::ranges::sort(all.links);
    all.links.erase(std::ranges::unique(all.links).begin(), all.links.end());
}

class StepRun {
public:
    StepRun(const Topology& topology, std::span<const StepJob> jobs, const StepOptions& options,
            bool alone)
        : topology_(topology), options_(options), host_(topology, options.network, options.seed) {
        if (alone) host_.network().serve_one_job();
        for (const StepJob& job : jobs) {
            members_.push_back({std::make_unique<StepJob>(job), {}, {}});
            players_.push_back(player_of(host_, *members_.back().job, options));
        }
    }

    StepHost& host() { return host_; }

    std::vector<JobSteps> run(const StepEvents& events) {
        for (const auto& player : players_) player->begin(Instant{});
        Instant before;
        for (const Departure& departure : events.departures) {
            INVARIANT(departure.at >= before);
            before = departure.at;
            host_.run(players_, departure.at);
            depart(departure);
        }
        host_.run(players_, Instant::never());
        std::vector<JobSteps> results;
        for (std::size_t job = 0; job < players_.size(); ++job) {
            append(members_[job].before, players_[job]->take_result());
            results.push_back(std::move(members_[job].before));
        }
        return results;
    }

private:
    void depart(const Departure& departure) {
        std::unique_ptr<StepPlayer>& player = players_[departure.job];
        if (player->is_over()) return;
        Members& members = members_[departure.job];
        host_.forget(*player);
        const Instant since = player->step_begin();
        JobSteps done = player->take_result();
        auto job = std::make_unique<StepJob>(without(*members.job, topology_, departure.ranks,
                                                     static_cast<std::int64_t>(done.steps.size())));
        append(members.before, std::move(done));
        StepOptions options = options_;
        options.detailed_steps -= std::min(options.detailed_steps,
                                           static_cast<std::int64_t>(members.before.steps.size()));
        player = player_of(host_, *job, options);
        members.job = std::move(job);
        members.begins = std::max(members.begins, departure.at + departure.delay);
        player->begin_again(since, departure.at, members.begins);
    }

    const Topology& topology_;
    StepOptions options_;
    StepHost host_;
    std::vector<Members> members_;
    std::vector<std::unique_ptr<StepPlayer>> players_;
};

}  // namespace

std::vector<std::size_t> ranks_left(const StepJob& job, std::span<const std::int32_t> first_ranks) {
    const auto replica_of = [&](std::size_t rank) {
        if (!job.layout) return rank;
        return rank / static_cast<std::size_t>(job.layout->cell()) %
               static_cast<std::size_t>(job.layout->degrees.data);
    };
    std::vector<bool> lost(job.workers.size());  // by replica
    for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
        const std::int32_t first = first_rank(job, rank);
        if (std::ranges::find(first_ranks, first) == first_ranks.end()) continue;
        lost[replica_of(rank)] = true;
    }
    std::vector<std::size_t> left;
    for (std::size_t rank = 0; rank < job.workers.size(); ++rank) {
        if (!lost[replica_of(rank)]) left.push_back(rank);
    }
    return left;
}

StepJob without(const StepJob& job, const Topology& topology,
                std::span<const std::int32_t> first_ranks, std::int64_t steps_done) {
    INVARIANT(!job.asynchronous && !job.workload);
    const std::vector<std::size_t> ranks = ranks_left(job, first_ranks);
    INVARIANT(!ranks.empty());
    StepJob left = job;
    left.workers.clear();
    left.compute.clear();
    left.update.clear();
    left.first_ranks.clear();
    for (const std::size_t rank : ranks) {
        left.workers.push_back(job.workers[rank]);
        left.compute.push_back(job.compute[rank]);
        if (!job.update.empty()) left.update.push_back(job.update[rank]);
        left.first_ranks.push_back(first_rank(job, rank));
    }
    if (left.layout) {
        policies::Layout& degrees = left.layout->degrees;
        degrees.data =
            static_cast<std::int32_t>(ranks.size()) / (left.layout->cell() * degrees.pipeline);
        if (!job.layout->kinds.empty()) {
            left.layout->kinds.clear();
            for (const std::size_t rank : ranks) {
                left.layout->kinds.push_back(job.layout->kinds[rank]);
            }
        }
    }
    const auto gone = static_cast<std::int64_t>(job.workers.size() - ranks.size());
    for (GradientBucket& bucket : left.buckets) bucket.decode -= gone * bucket.decode_a_peer;
    left.per_host = workers_per_machine(topology, left.workers);
    search_again(left, topology);
    ++left.departures;
    left.steps -= steps_done;
    left.steps_before += steps_done;
    return left;
}

void expect_playable(const Topology& topology, const StepJob& job) {
    StepHost host(topology, {});
    player_of(host, job, {});
}

std::vector<JobSteps> run_steps(const Topology& topology, std::span<const StepJob> jobs,
                                std::span<const CrossTraffic> cross_traffic,
                                const StepOptions& options, const StepEvents& events) {
    // Details name the links.
    const bool alone = jobs.size() == 1 && cross_traffic.empty() && events.links.empty() &&
                       options.detailed_steps == 0;
    StepRun run(topology, jobs, options, alone);
    add_cross_traffic(run.host().network(), cross_traffic);
    for (const StepLinkChange& change : events.links) {
        run.host().network().flows().plan_bandwidth(change.at, change.link, change.bandwidth);
    }
    return run.run(events);
}

}  // namespace ukemi::sim
