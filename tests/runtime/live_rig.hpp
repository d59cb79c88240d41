// live_rig.hpp — a small live run for tests, and clocks that wait for it.
//
// What is asserted of a live run never depends on how fast this machine is. Where something has to
// happen before the market goes on, the market's clock waits for it; where a run has to last until
// something has happened, its work is endless and it is told to stop then.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <deque>
#include <functional>
#include <utility>

#include "records/decision_log.hpp"
#include "runtime/live_run.hpp"
#include "tests/scenarios/scenario_text.hpp"
#include "tests/scratch_folder.hpp"

namespace ukemi {

inline constexpr std::string_view synthetic =
    R"("training": {"data": {"kind": "synthetic", "samples": 512, "features": 16, "classes": 4},
                    "model": {"kind": "mlp", "hidden": [16]}, "learning_rate": 0.1,
                    "optimiser": {"momentum": 0.9}})";

// `samples` in steps of 8 a worker, on up to `count` workers of a market with a price.
inline scenarios::Scenario live_scenario(std::int64_t samples, int count,
                                         std::string_view market_keys, std::string_view policies,
                                         std::string_view give_up_after = "40 h",
                                         std::string_view job_keys = "") {
    return scenarios::scenario_from_text(
        fmt::format(R"({{"name": "live", "seed": 3,
            "job": {{"samples": {}, "batch_per_worker": 8, "samples_per_epoch": 512,
                     "throughput": {{"1": "1000 samples/s", "4": "2000 samples/s"}},
                     "checkpoint": {{"kind": "saved", "cost": "1 s"}},
                     "restart": "1 s", "give_up_after": "{}"{}}},
            "cluster": {{"count_min": 1, "count_max": {}}},
            "market": {{"spot_price": "1 USD/h", "on_demand_price": "3 USD/h"{}}},
            {}, "policy_parameters": {{"periodic_checkpoint": {{"interval": "20 s"}},
                                       "noise_scale_resize": {{}}}},
            "replay": ["{}"]}})",
                    samples, give_up_after, job_keys, count, market_keys, synthetic, policies),
        "live.json");
}

inline runtime::LiveOptions options_in(const ScratchFolder& folder, double time_scale) {
    runtime::LiveOptions options;
    options.worker_program = UKEMI_BINARY;
    options.worker_arguments = {"worker"};
    options.folder = folder.path();
    options.time_scale = time_scale;
    options.keep = {true, true, true, true};
    return options;
}

inline runtime::LiveRun run_it(const scenarios::Scenario& scenario,
                               const scenarios::NamedMarket& market,
                               const runtime::LiveOptions& options) {
    return runtime::run_live(scenario, market, scenario.policies.front(), scenario.seed, options);
}

// `position`: the samples that were done before the run.
inline void require_sound(const runtime::LiveRun& live, std::int64_t position = 0) {
    const records::RunResult& result = live.run.result;
    CHECK(result.causes.time_sum() == result.held);
    const records::LogReplay again =
        records::replay_decisions(live.run.decisions, "decisions.jsonl");
    CHECK(again.questions > 0);
    CHECK(again.difference_count == 0);
    // No committed step was lost or made twice, unless nobody survived; then a checkpoint stands.
    for (const runtime::LiveRecord::Step& step : live.record.steps) {
        const std::int64_t before = step.samples - 8 * step.workers * step.learners;
        const bool saved = std::ranges::count(live.record.saved_samples, before) > 0;
        const bool restored = saved || before == 0;  // nothing had been saved yet
        CAPTURE(step.step, step.workers, before, position);
        CHECK((before == position || (before < position && restored)));
        position = step.samples;
    }
}

inline void require_finished(const runtime::LiveRun& live, const scenarios::Scenario& scenario) {
    CHECK(live.run.result.finished);
    CHECK(live.run.result.samples_done == scenario.job.samples_total);
    require_sound(live);
}

// Ends a run once something has happened.
class RunUntil {
public:
    RunUntil(runtime::LiveOptions& options,
             std::function<bool(const runtime::LiveRecord&)> happened) {
        options.stop_requests = &requests_;
        options.on_progress = [this,
                               happened = std::move(happened)](const runtime::LiveRecord& record) {
            if (happened(record)) requests_ = 1;
        };
    }

private:
    std::atomic<int> requests_{0};
};

inline constexpr std::int64_t endless = 1'000'000'000;  // samples

// The wall's time, but it does not pass a moment of the scenario before something has happened.
class WaitingWall {
public:
    using Wall = runtime::LiveClock::Wall;

    explicit WaitingWall(runtime::LiveOptions& options) : scale_(options.time_scale) {
        options.wall = [this] { return now(); };
        options.on_progress = [this](const runtime::LiveRecord& record) {
            while (!waits_.empty() && waits_.front().second(record)) waits_.pop_front();
        };
    }
    // In the order of their moments; each is waited for from the one before on.
    void wait_at(Instant moment, std::function<bool(const runtime::LiveRecord&)> happened) {
        const auto ns = static_cast<double>(moment.since_start().raw()) / scale_;
        waits_.emplace_back(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)),
                            std::move(happened));
    }
    bool all_happened() const { return waits_.empty(); }

private:
    Wall::time_point now() {
        const auto real = Wall::now();
        if (start_ == Wall::time_point()) start_ = real;
        auto shown = real - behind_;
        if (!waits_.empty() && shown > start_ + waits_.front().first) {
            behind_ += shown - (start_ + waits_.front().first);
            shown = real - behind_;
        }
        return shown;
    }
    double scale_;
    Wall::time_point start_;
    Wall::duration behind_{};
    std::deque<std::pair<Wall::duration, std::function<bool(const runtime::LiveRecord&)>>> waits_;
};

// One second of the scenario for every step, and no other time.
class SteppedWall {
public:
    explicit SteppedWall(runtime::LiveOptions& options) {
        options.time_scale = 1;
        options.wall = [this] {
            return runtime::LiveClock::Wall::time_point(std::chrono::seconds(steps_));
        };
        options.on_progress = [this](const runtime::LiveRecord& record) {
            steps_ = record.steps.size();
        };
    }

private:
    std::size_t steps_ = 0;
};

}  // namespace ukemi
