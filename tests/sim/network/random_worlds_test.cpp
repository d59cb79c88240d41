// random_worlds_test.cpp — collectives in random worlds end when a plain simulator says: one that
// fills anew at every event, in long double, and knows nothing of what was before.
//
// UKEMI_WORLDS says how many worlds (600), of which every other has routes of equal latency, as
// those have in which bench_network random has SimGrid.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "sim/network/transfer_graph.hpp"
#include "tests/sim/network/filling_anew.hpp"
#include "tests/support/reference_scenarios.hpp"

using namespace ukemi;
using namespace ukemi::test;
using namespace ukemi::sim;

namespace {

class PlainSimulator {
public:
    explicit PlainSimulator(const ReferenceScenario& scenario) : scenario_(scenario) {
        for (const LinkRate& link : scenario.topology.links()) {
            capacities_.push_back(link.bandwidth.raw());
        }
        for (const ReferenceJob& job : scenario.jobs) {
            jobs_.push_back({TransferGraph(job.schedule), {}, 0, false});
            jobs_.back().waits.assign(jobs_.back().graph.waits().begin(),
                                      jobs_.back().graph.waits().end());
        }
        changed_.resize(scenario.changes.size());
    }

    std::vector<long double> ends_s() {
        for (;;) {
            fill();
            const long double next = next_s();
            if (next == never) break;
            for (Flow& flow : flows_) flow.left -= flow.rate * (next - now_);
            now_ = next;
            play();
        }
        std::vector<long double> ends;
        for (const Job& job : jobs_) ends.push_back(job.end_s);
        return ends;
    }

private:
    static constexpr long double never = std::numeric_limits<long double>::infinity();
    static constexpr long double together_s = 1e-14L;  // what is due so near is due at once

    struct Job {
        TransferGraph graph;
        std::vector<std::uint32_t> waits;
        long double end_s = 0;
        bool begun = false;
    };
    struct Flow {
        std::size_t job = 0;
        std::uint32_t node = 0;
        FilledFlow filled;
        long double left = 0;
        long double moves_from = 0;
        long double rate = 0;

        long double due(long double now) const {
            if (moves_from > now) return moves_from;
            return rate > 0 ? now + std::max(left, 0.0L) / rate : never;
        }
    };

    static long double seconds_of(Instant at) {
        return static_cast<long double>(at.since_start().raw()) / 1e9L;
    }

    void fill() {
        std::vector<FilledFlow> filled;
        for (const Flow& flow : flows_) {
            if (flow.moves_from <= now_) filled.push_back(flow.filled);
        }
        const std::vector<long double> rates = filled_anew(capacities_, filled);
        std::size_t next = 0;
        for (Flow& flow : flows_) flow.rate = flow.moves_from <= now_ ? rates[next++] : 0;
    }

    long double next_s() const {
        long double next = never;
        for (const Flow& flow : flows_) next = std::min(next, flow.due(now_));
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (!jobs_[i].begun) next = std::min(next, seconds_of(scenario_.jobs[i].start));
        }
        for (std::size_t i = 0; i < changed_.size(); ++i) {
            if (!changed_[i]) next = std::min(next, seconds_of(scenario_.changes[i].at));
        }
        return next;
    }

    void play() {
        for (std::size_t i = 0; i < changed_.size(); ++i) {
            const LinkChange& change = scenario_.changes[i];
            if (changed_[i] || seconds_of(change.at) > now_) continue;
            changed_[i] = true;
            capacities_[index_of_link(change.link)] = change.bandwidth.raw();
        }
        std::vector<Flow> over;
        std::erase_if(flows_, [&](const Flow& flow) {
            const bool is_over =
                flow.moves_from <= now_ && flow.rate > 0 && flow.due(now_) <= now_ + together_s;
            if (is_over) over.push_back(flow);
            return is_over;
        });
        for (const Flow& flow : over) node_over(flow.job, flow.node);
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
            if (jobs_[i].begun || seconds_of(scenario_.jobs[i].start) > now_) continue;
            jobs_[i].begun = true;
            for (std::uint32_t node = 0; node < jobs_[i].waits.size(); ++node) {
                if (jobs_[i].graph.waits()[node] == 0) begin(i, node);
            }
        }
    }

    void begin(std::size_t number, std::uint32_t node) {
        const Job& job = jobs_[number];
        const ReferenceJob& plan = scenario_.jobs[number];
        const TransferGraph::Node& what = job.graph.node(node);
        if (what.edge == TransferGraph::join) return node_over(number, node);
        const auto range =
            kernels::chunk_range(static_cast<std::size_t>(plan.bytes.raw()), job.graph.chunks(),
                                 what.first_chunk, what.chunk_count);
        const TransferGraph::Edge& edge = job.graph.edges()[what.edge];
        const auto host = [&](std::int32_t rank) {
            return plan.host_of_rank[static_cast<std::size_t>(rank)];
        };
        Flow flow{number, node, {}, static_cast<long double>(range.end - range.begin), now_, 0};
        const std::vector<LinkRate> links = scenario_.topology.links();
        for (const LinkId link : scenario_.topology.route(host(edge.from), host(edge.to))) {
            flow.filled.hops.push_back({link});
            const Duration latency = links[index_of_link(link)].latency;
            flow.moves_from += static_cast<long double>(latency.raw()) / 1e9L;
        }
        flows_.push_back(std::move(flow));
    }

    void node_over(std::size_t number, std::uint32_t node) {
        Job& job = jobs_[number];
        job.end_s = now_;
        for (const std::uint32_t next : job.graph.successors(node)) {
            if (--job.waits[next] == 0) begin(number, next);
        }
    }

    const ReferenceScenario& scenario_;
    std::vector<double> capacities_;
    std::vector<Job> jobs_;
    std::vector<Flow> flows_;
    std::vector<bool> changed_;
    long double now_ = 0;
};

}  // namespace

TEST_CASE("random worlds: collectives end within 2 ns of a plain simulator's times",
          "[network][swarm][property]") {
    const char* given = std::getenv("UKEMI_WORLDS");
    const std::uint64_t worlds = given == nullptr ? 600 : std::strtoull(given, nullptr, 10);
    double worst_ns = 0;
    std::size_t jobs = 0;
    for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
        CAPTURE(seed);
        const ReferenceScenario scenario = random_scenario(seed, seed % 2 == 0);
        const std::vector<long double> plain = PlainSimulator(scenario).ends_s();
        for (const Fidelity fidelity : {Fidelity::exact, Fidelity::steps}) {
            const ReferenceResult result = run_reference(scenario, false, fidelity);
            REQUIRE(result.job_ends.size() == plain.size());
            for (std::size_t job = 0; job < plain.size(); ++job) {
                CAPTURE(job, scenario.jobs[job].schedule.name);
                const auto ns = static_cast<long double>(result.job_ends[job].since_start().raw());
                const auto off_ns = static_cast<double>(std::abs(ns - 1e9L * plain[job]));
                REQUIRE(off_ns <= 2);
                worst_ns = std::max(worst_ns, off_ns);
                ++jobs;
            }
        }
    }
    fmt::print("random worlds: {} worlds, {} collectives, at most {:.2f} ns apart\n", worlds, jobs,
               worst_ns);
    CHECK(jobs >= worlds);
}
