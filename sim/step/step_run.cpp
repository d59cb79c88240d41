// step_run.cpp — a small event loop: gradients and launch rules on one side, the network on the
// other.
#include "sim/step/step_run.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>

#include "base/invariant.hpp"
#include "sim/step/placed_collective.hpp"

namespace ukemi {
namespace {

struct Due {
    enum class Kind : std::uint8_t { bucket_ready, computed, launcher };
    Instant at;
    std::uint64_t sequence = 0;
    std::uint32_t job = 0;
    Kind kind{};
    std::uint32_t bucket = 0;
    friend bool operator>(const Due& a, const Due& b) {
        return a.at != b.at ? a.at > b.at : a.sequence > b.sequence;
    }
};

struct RunningJob {
    RunningJob(const StepJob& given, const Topology& topology, std::uint64_t seed, Duration latency)
        : job(given),
          draws(given, topology, seed),
          launcher(given.launch, given.workers.size(), latency) {}

    const StepJob& job;
    StragglerDraws draws;
    Launcher launcher;
    std::optional<Instant> launcher_at;  // the newest moment planned for it
    std::optional<PlacedCollective> placed;
    JobSteps result;
    StepRecord step;
    bool detailed = false;
    Instant computed_at;
    bool computed = false;
    std::size_t buckets_left = 0;
    std::size_t on_their_way = 0;
    Instant busy_since;
    std::deque<Instant> taken;  // when the last batches were taken, oldest first
    Instant batch_ready;        // the newest batch that was prepared
};

class StepRun {
public:
    StepRun(const Topology& topology, std::span<const StepJob> jobs, const StepOptions& options)
        : network_(topology), options_(options) {
        for (const StepJob& job : jobs) add(job, topology);
    }

    void add_cross_traffic(std::span<const CrossTraffic> all) {
        for (const CrossTraffic& one : all) {
            const RouteId route =
                network_.flows().add_route(network_.routes().route(one.from, one.to));
            for (std::int64_t i = 0; i < one.flows; ++i) {
                network_.flows().start(route, FlowNetwork::endless, UINT64_MAX);
            }
        }
    }

    std::vector<JobSteps> run() {
        for (std::uint32_t job = 0; job < jobs_.size(); ++job) begin_step(job, Instant{});
        while (running_ > 0) {
            const Instant limit = due_.empty() ? Instant::never() : due_.top().at;
            if (const auto event = network_.runs().run_until(limit)) {
                arrived(*event);
                continue;
            }
            INVARIANT(!due_.empty());
            const Due due = due_.top();
            due_.pop();
            take(due);
        }
        std::vector<JobSteps> results;
        for (const auto& one : jobs_) results.push_back(std::move(one->result));
        return results;
    }

private:
    struct OnItsWay {
        std::uint32_t job = 0;
        std::vector<std::uint32_t> buckets;
        SentMessage message;
    };

    void add(const StepJob& job, const Topology& topology) {
        INVARIANT(!job.workers.empty() && job.compute.size() == job.workers.size());
        INVARIANT(job.steps >= 1 && job.accumulation >= 1);
        const bool sends = job.workers.size() > 1 && !job.buckets.empty();
        Duration latency;  // from rank 0, as far as it goes
        for (std::size_t rank = 1; sends && rank < job.workers.size(); ++rank) {
            latency =
                std::max(latency, network_.routes().latency(job.workers[0], job.workers[rank]));
        }
        jobs_.push_back(std::make_unique<RunningJob>(job, topology, options_.seed, latency));
        ++running_;
        if (!sends) return;
        RunningJob& running = *jobs_.back();
        running.placed.emplace(network_, job.collective, job.workers, job.per_host, job.name);
        running.result.collective = running.placed->name();
        running.result.links.assign(running.placed->links().begin(), running.placed->links().end());
    }

    void plan(Instant at, std::uint32_t job, Due::Kind kind, std::uint32_t bucket = 0) {
        due_.push({at, sequence_++, job, kind, bucket});
    }

    // When the batch of the next step is there; the one that replaces it is then begun.
    static Instant input_at(RunningJob& running, Instant now) {
        const InputPipeline& input = running.job.input;
        if (input.samples_per_second <= 0) return now;
        const auto samples = static_cast<double>(running.job.samples_per_step());
        const Duration each = seconds(samples / input.samples_per_second);
        Instant room;  // since when there has been a place for it
        if (static_cast<std::int64_t>(running.taken.size()) == input.ahead) {
            room = running.taken.front();
            running.taken.pop_front();
        }
        running.batch_ready = std::max(running.batch_ready, room) + each;
        const Instant there = std::max(now, running.batch_ready);
        running.taken.push_back(there);
        return there;
    }

    void begin_step(std::uint32_t number, Instant now) {
        RunningJob& running = *jobs_[number];
        const StepJob& job = running.job;
        running.detailed =
            static_cast<std::int64_t>(running.result.steps.size()) < options_.detailed_steps;
        running.step = {};
        running.step.begin = now;
        const Instant begin = input_at(running, now);
        const std::vector<Duration> computing = running.draws.next(job);
        Duration all;
        for (const Duration one : computing) all += one;
        const Duration longest = std::ranges::max(computing);
        running.step.parts.input = begin - now;
        running.step.parts.compute =
            Duration::of(all.raw() / static_cast<std::int64_t>(computing.size()));
        running.step.parts.straggler = longest - running.step.parts.compute;
        running.step.compute_begin = begin;
        if (running.detailed) running.step.computing = computing;
        running.computed_at = begin + longest;
        running.computed = false;
        running.buckets_left = running.placed ? job.buckets.size() : 0;
        if (running.placed) plan_buckets(number, longest);
        plan(running.computed_at, number, Due::Kind::computed);
    }

    void plan_buckets(std::uint32_t number, Duration longest) {
        RunningJob& running = *jobs_[number];
        const StepJob& job = running.job;
        running.launcher.begin_step(job.buckets);
        // Counted from the end, so that what is ready last is so when the slowest has computed.
        const double last_pass = static_cast<double>(longest.raw()) /
                                 static_cast<double>(job.accumulation) * (1 - job.forward_share);
        for (std::uint32_t i = 0; i < job.buckets.size(); ++i) {
            const Duration early =
                Duration::of(round_nearest(last_pass * (1 - job.buckets[i].ready)));
            plan(running.computed_at - early, number, Due::Kind::bucket_ready, i);
        }
    }

    void take(const Due& due) {
        RunningJob& running = *jobs_[due.job];
        switch (due.kind) {
            case Due::Kind::bucket_ready: running.launcher.bucket_ready(due.bucket, due.at); break;
            case Due::Kind::computed: running.computed = true; break;
            case Due::Kind::launcher:
                if (running.launcher.due_at() != due.at) return;  // told something meanwhile
                running.launcher_at.reset();  // it may be due at this very moment again
                running.launcher.due(due.at);
                break;
        }
        go_on(due.job, due.at);
    }

    // Sends what may be sent, and ends the step if there is nothing left of it.
    void go_on(std::uint32_t number, Instant now) {
        RunningJob& running = *jobs_[number];
        for (Launcher::Message& message : running.launcher.take()) {
            if (running.on_their_way++ == 0) running.busy_since = now;
            const RunId run =
                running.placed->start(network_, message.bytes, now + running.job.launch.overhead);
            const std::string& name = running.job.buckets[message.buckets.front()].name;
            const auto count = static_cast<std::int64_t>(message.buckets.size());
            on_their_way_[static_cast<std::uint32_t>(run)] = {
                number, std::move(message.buckets), {name, count, message.bytes, now, {}}};
        }
        const std::optional<Instant> due = running.launcher.due_at();
        if (due && due != running.launcher_at) plan(*due, number, Due::Kind::launcher);
        running.launcher_at = due;
        if (running.computed && running.buckets_left == 0) end_step(number, now);
    }

    void arrived(const NetworkEvent& event) {
        if (event.kind != NetworkEvent::Kind::run_finished) return;
        auto node = on_their_way_.extract(static_cast<std::uint32_t>(event.number));
        INVARIANT(!node.empty());
        OnItsWay& done = node.mapped();
        RunningJob& running = *jobs_[done.job];
        running.launcher.message_sent();
        running.buckets_left -= done.buckets.size();
        const Instant from = std::max(running.busy_since, running.computed_at);
        if (--running.on_their_way == 0 && event.at > from) {
            running.step.parts.sending += event.at - from;
        }
        if (running.detailed) {
            done.message.end = event.at;
            running.step.sent.push_back(std::move(done.message));
        }
        go_on(done.job, event.at);
    }

    void end_step(std::uint32_t number, Instant now) {
        RunningJob& running = *jobs_[number];
        StepParts& parts = running.step.parts;
        running.step.end = now;
        parts.agreeing = now - running.computed_at - parts.sending;
        INVARIANT(parts.agreeing >= Duration{});
        INVARIANT(parts.total() == now - running.step.begin);
        running.result.steps.push_back(std::move(running.step));
        if (static_cast<std::int64_t>(running.result.steps.size()) < running.job.steps) {
            begin_step(number, now);
        } else {
            --running_;
        }
    }

    ClusterNetwork network_;
    StepOptions options_;
    std::vector<std::unique_ptr<RunningJob>> jobs_;
    std::size_t running_ = 0;
    std::map<std::uint32_t, OnItsWay> on_their_way_;
    std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
    std::uint64_t sequence_ = 0;
};

}  // namespace

std::vector<JobSteps> run_steps(const Topology& topology, std::span<const StepJob> jobs,
                                std::span<const CrossTraffic> cross_traffic,
                                const StepOptions& options) {
    StepRun run(topology, jobs, options);
    run.add_cross_traffic(cross_traffic);
    return run.run();
}

}  // namespace ukemi
