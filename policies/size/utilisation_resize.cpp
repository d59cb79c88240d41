// utilisation_resize.cpp — machines by how busy they are, and not by what they bring: a baseline.
//
// What resource managers do, and what Or et al. (MLSys'20) compare with: a machine more while the
// mean utilisation is above a threshold, one fewer once some machine has been idle for a while.
// Synchronous training keeps all machines busy, whether or not the last one made it faster. How
// busy a worker is, is the part of its step in which it computes; or, as a device's own counter has
// it ("one or more kernels was executing", nvidia-smi), in which it does not wait for input: the
// kernel of a collective runs while it waits for the others.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>

#include "base/bounded_duration.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

struct UtilisationSettings {
    bool occupied = false;  // what counts: all but waiting for input, or computing alone
    double grow_above = 0.8;
    double idle_below = 0.05;
    Duration idle_for = minutes(1);
    std::int64_t every_steps = 10;
    std::int32_t spawn = 1;
    std::int32_t least = 1;
    std::int32_t most = 1'000'000;
};

class UtilisationResize final : public Policy {
public:
    explicit UtilisationResize(const UtilisationSettings& settings) : settings_(settings) {}
    std::string_view name() const override { return "utilisation_resize"; }
    KnobSet knobs() const override { return {Knob::count, Knob::workers}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }
    bool looks_at_workers() const override { return true; }

    Decision before_train(const PolicyView&) override {
        idle_since_.clear();
        return {};
    }
    Decision after_step(const PolicyView& view) override {
        const double mean = look(view.seen);
        const std::int32_t size = view.plan.workers_max;
        if (view.seen.workers != size || view.seen.worker_views.empty()) return {};
        const bool somebody_idle = std::ranges::any_of(idle_since_, [&](const auto& idle) {
            return view.seen.now - idle.second >= settings_.idle_for;
        });
        if (somebody_idle) {
            if (size <= settings_.least) return {};
            return resized(std::max(size - settings_.spawn, settings_.least), "a worker is idle");
        }
        if (view.seen.steps_done % settings_.every_steps != 0) return {};
        const std::int32_t most = std::min(settings_.most, view.instances_max);
        if (mean <= settings_.grow_above || size >= most) return {};
        const std::int32_t more = most - size < settings_.spawn ? most : size + settings_.spawn;
        return resized(more, "the workers are busy");
    }
    void committed(const Plan&) override { idle_since_.clear(); }

private:
    static Decision resized(std::int32_t size, std::string_view reason) {
        Decision decision = resized_to(size);
        decision.reason = reason;
        return decision;
    }
    // None where that is not measured; of input, no wait is taken for none.
    std::optional<double> busy_share(const WorkerView& worker) const {
        if (worker.step <= Duration{}) return std::nullopt;
        if (settings_.occupied) return 1 - worker.input_wait / worker.step;
        const Duration parts = worker.compute + worker.exposed_communication + worker.input_wait;
        if (parts <= Duration{}) return std::nullopt;
        return worker.compute / worker.step;
    }
    // The mean utilisation; notes since when whom has been idle.
    double look(const Observation& seen) {
        double sum = 0;
        std::int64_t count = 0;
        std::erase_if(idle_since_, [&](const auto& idle) {
            const auto there =
                std::ranges::find(seen.worker_views, idle.first, &WorkerView::instance);
            return there == seen.worker_views.end() || !busy_share(*there);
        });
        for (const WorkerView& worker : seen.worker_views) {
            const std::optional<double> busy = busy_share(worker);
            if (!busy) continue;
            sum += *busy;
            ++count;
            if (*busy < settings_.idle_below) {
                idle_since_.try_emplace(worker.instance, seen.now);
            } else {
                idle_since_.erase(worker.instance);
            }
        }
        return count > 0 ? sum / static_cast<double>(count) : 0;
    }

    UtilisationSettings settings_;
    std::map<InstanceId, Instant> idle_since_;
};

}  // namespace

std::unique_ptr<Policy> make_utilisation_resize(ConfigReader& parameters) {
    constexpr std::int64_t most = 1'000'000;
    UtilisationSettings settings;
    static constexpr std::array<std::string_view, 2> counted{"computing", "occupied"};
    settings.occupied = parameters.one_of("utilisation", counted, counted[0]) == counted[1];
    settings.grow_above = parameters.number("grow_above", 0, 1, settings.grow_above);
    settings.idle_below = parameters.number("idle_below", 0, 1, settings.idle_below);
    settings.idle_for =
        bounded_duration(parameters, "idle_for", Duration{}, days(36'500), settings.idle_for);
    settings.every_steps = parameters.integer("every_steps", 1, 1'000'000'000, 10);
    settings.spawn = static_cast<std::int32_t>(parameters.integer("spawn", 1, most, 1));
    settings.least = static_cast<std::int32_t>(parameters.integer("workers_min", 1, most, 1));
    settings.most = static_cast<std::int32_t>(parameters.integer("workers_max", 1, most, most));
    if (settings.most < settings.least) {
        parameters.fail("workers_max", "expected at least \"workers_min\"");
    }
    return std::make_unique<UtilisationResize>(settings);
}

}  // namespace ukemi::policies
