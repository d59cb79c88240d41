#include "policies/training_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/config_reader.hpp"
#include "policies/registry.hpp"

namespace ukemi::policies {

namespace {

constexpr std::string_view setup_file = "training loop";  // as in complaints

std::vector<std::unique_ptr<Policy>> policies_of(const TrainingLoopSetup& setup) {
    std::vector<std::unique_ptr<Policy>> policies;
    for (NamedPolicy& named : policies_from_json(setup.policies)) {
        const PolicyEntry& entry = *find_policy(named.name);
        if (entry.needs_oracle) {
            throw InputError(
                setup_file, "/policies",
                fmt::format("\"{}\" asks an oracle, and a real run has none", entry.name));
        }
        if (entry.needs_deadline && setup.deadline == Instant::never()) {
            throw InputError(setup_file, "/policies",
                             fmt::format("\"{}\" needs a deadline, and none is set", entry.name));
        }
        policies.push_back(std::move(named.policy));
    }
    const std::string conflict = policy_conflict(policies, setup.capabilities);
    if (!conflict.empty()) throw InputError(setup_file, "/policies", conflict);
    const std::string refused = refusal(setup.capabilities, setup.plan);
    if (!refused.empty()) {
        throw InputError(setup_file, "",
                         fmt::format("the first Plan is not possible: {}", refused));
    }
    if (setup.samples_total < 1 || setup.samples_per_epoch < 0) {
        throw InputError(setup_file, "", "no samples to train on");
    }
    return policies;
}

}  // namespace

JobProfile profile_of(const TrainingLoopSetup& setup) {
    JobProfile profile = setup.profile;
    if (profile.throughput.empty()) {
        profile.throughput.push_back({1, {1, whole_seconds(1)}});
    } else if (setup.plan.global_batch == 0) {
        profile.batch_grows = true;
    }
    return profile;
}

std::vector<NamedPolicy> policies_from_json(std::string_view text) {
    ConfigReader root = ConfigReader::from_text(text, setup_file);
    std::vector<NamedPolicy> policies;
    for (ConfigReader& item : root.objects("policies")) {
        const std::string name = item.text("name");
        const PolicyEntry* entry = find_policy(name);
        if (entry == nullptr) item.fail("name", no_such_policy(name));
        auto policy = make_policy(*entry, item);
        nlohmann::json parameters = nlohmann::json::parse(item.object_text());
        parameters.erase("name");
        policies.push_back({std::string(entry->name), parameters.dump(), std::move(policy)});
    }
    root.finish();
    return policies;
}

TrainingLoop::TrainingLoop(TrainingLoopSetup setup) {
    ControllerSetup inner;
    inner.policies = policies_of(setup);
    inner.plan = std::move(setup.plan);
    inner.predictor = make_predictor(setup.predictor, profile_of(setup), setup.seed);
    inner.seed = setup.seed;
    inner.samples_total = setup.samples_total;
    inner.samples_per_epoch = setup.samples_per_epoch;
    inner.log = setup.log;
    seen_.deadline = setup.deadline;
    seen_.workers_min = setup.capabilities.workers_min;
    inner.capabilities = std::move(setup.capabilities);
    controller_ = std::make_unique<Controller>(std::move(inner));
}

TrainingLoop::~TrainingLoop() = default;

const Plan& TrainingLoop::plan() const { return controller_->plan(); }
std::int64_t TrainingLoop::steps_done() const { return controller_->steps_done(); }
std::int64_t TrainingLoop::samples_done() const { return controller_->samples_done(); }
bool TrainingLoop::finished() const { return controller_->finished(); }
bool TrainingLoop::awaiting_commit() const { return controller_->awaiting_commit(); }
Observation& TrainingLoop::seen() { return seen_; }

// Asks all that is due at this boundary, until there is a Plan or nothing more to ask.
std::optional<Plan> TrainingLoop::go_on(Instant now) {
    INVARIANT(now >= seen_.now);
    seen_.now = now;
    while (!controller_->awaiting_commit()) {
        std::optional<ControlEvent> question = controller_->next_hook();
        if (!question && pending_ != EventKind::none) {
            question = {Hook::on_event, std::exchange(pending_, EventKind::none)};
        } else if (!question && controller_->ask_at() <= now && !finished()) {
            question = {Hook::on_event, EventKind::clock};
        }
        if (!question) return std::nullopt;
        if (auto plan = controller_->propose(*question, seen_)) return plan;
    }
    return std::nullopt;
}

std::optional<Plan> TrainingLoop::start(Instant now) {
    INVARIANT(!std::exchange(started_, true));
    INVARIANT(now >= seen_.now);
    seen_.now = now;
    if (auto plan = controller_->propose({Hook::before_train, EventKind::none}, seen_)) return plan;
    return go_on(now);
}

std::optional<Plan> TrainingLoop::step(const FinishedStep& step) {
    INVARIANT(started_ && !awaiting_commit() && step.workers > 0);
    if (step.samples > 0) {
        controller_->uneven_steps_finished(1, step.samples);
    } else {
        controller_->steps_finished(1, step.workers);
    }
    // No interval is longer than that, and sums of it do not overflow.
    trained_since_saved_ = std::min(trained_since_saved_, days(36'600)) + step.duration;
    seen_.phase = finished() ? JobPhase::finished : JobPhase::running;
    seen_.workers = step.workers;
    seen_.loss = step.loss;
    seen_.gradient = step.gradient;
    seen_.exchange = step.exchange;
    seen_.worker_views = step.worker_views;
    if (step.worker_views.empty() && step.duration > Duration{}) {
        for (std::int32_t rank = 0; rank < step.workers; ++rank) {
            const InstanceId instance{static_cast<std::uint32_t>(rank)};
            seen_.worker_views.push_back({instance, step.duration, {}, {}, {}});
        }
    }
    return go_on(step.now);
}

std::optional<Plan> TrainingLoop::event(EventKind kind, Instant now) {
    INVARIANT(started_);
    pending_ = std::max(pending_, kind);
    return go_on(now);
}

std::optional<Plan> TrainingLoop::committed(Instant now) {
    controller_->committed(PlanVersion{index_of(plan().version) + 1});
    return go_on(now);
}

std::optional<Plan> TrainingLoop::discarded(std::string_view why, Instant now) {
    controller_->discarded(PlanVersion{index_of(plan().version) + 1}, why);
    return go_on(now);
}

std::optional<Plan> TrainingLoop::rolled_back(Instant now) {
    INVARIANT(started_ && !awaiting_commit());
    controller_->rolled_back(seen_.samples_safe, steps_safe_);
    trained_since_saved_ = {};
    pending_ = std::max(pending_, EventKind::instances_lost);
    return go_on(now);
}

void TrainingLoop::stop(Instant now) {
    INVARIANT(started_ && !awaiting_commit() && now >= seen_.now);
    seen_.now = now;
    seen_.phase = JobPhase::finished;
    if (!controller_->has_hook(Hook::after_train)) return;
    const auto last_wish = controller_->propose({Hook::after_train, EventKind::none}, seen_);
    if (last_wish) controller_->discarded(last_wish->version, "training is over");
}

bool TrainingLoop::checkpoint_due() const {
    return plan().checkpoint_interval != never_checkpoint &&
           trained_since_saved_ >= plan().checkpoint_interval;
}

void TrainingLoop::saved() {
    seen_.samples_safe = samples_done();
    steps_safe_ = steps_done();
    trained_since_saved_ = {};
}

}  // namespace ukemi::policies
