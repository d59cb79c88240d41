#include "policies/controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "policies/plan_fields.hpp"

namespace ukemi::policies {

namespace {

bool runs_in_reverse(Hook hook) {
    return hook == Hook::after_step || hook == Hook::after_epoch || hook == Hook::after_train;
}

bool samples_can_be_counted(const Capabilities& world, const Plan& plan) {
    std::int64_t samples = std::max({world.instances_max, world.workers_min, plan.workers_max});
    for (const std::int64_t factor : {plan.batch_per_learner, std::int64_t{plan.learners_per_gpu},
                                      std::int64_t{plan.accumulation}}) {
        if (__builtin_mul_overflow(samples, factor, &samples)) return false;
    }
    return true;
}

// What a sentence about a value may name.
template <class Value>
auto number_in(const Value& value) {
    if constexpr (std::is_arithmetic_v<Value>) {
        return value;
    } else {
        return "";
    }
}

std::string stream_name(const Policy& policy) { return fmt::format("policy/{}", policy.name()); }

std::string codec_refusal(const Capabilities& world, const Plan& to) {
    if (to.codec == Codec::none || !world.knobs.has(Knob::codec)) return {};
    const std::string_view name = codec_names()[static_cast<std::size_t>(to.codec)];
    const bool gradients = to.synchronisation == Synchronisation::s_sgd;
    if (!gradients) return fmt::format("codec {}, and no gradients that are exchanged", name);
    const double level = to.codec_level;
    bool known = false;
    for (const CodecRange& each : world.codecs) {
        if (each.codec != to.codec) continue;
        known = true;
        const bool whole = !each.whole_levels || level == std::floor(level);
        if ((each.has_default && level == 0) ||
            (whole && level >= each.level_min && level <= each.level_max)) {
            return {};
        }
    }
    return known ? fmt::format("codec {} with level {}, which the {} does not have", name, level,
                               world.world)
                 : fmt::format("codec {}, which the {} does not have", name, world.world);
}

}  // namespace

std::string refusal(const Capabilities& world, const Plan& to) {
    for (std::size_t line = 1; line < to.fleet.size(); ++line) {
        const FleetLine& a = to.fleet[line - 1];
        const FleetLine& b = to.fleet[line];
        if (a.zone == b.zone && a.instance_type == b.instance_type && a.market == b.market) {
            return fmt::format("two lines for one market of zone {}", index_of(a.zone));
        }
    }
    std::int64_t held = 0;
    for (const FleetLine& line : to.fleet) {
        if (index_of(line.zone) >= world.zones) {
            return fmt::format("zone {} does not exist", index_of(line.zone));
        }
        if (line.instance_type >= world.instance_types) {
            return fmt::format("instance type {} does not exist", line.instance_type);
        }
        if (line.count < 0) return fmt::format("a count of {} instances", line.count);
        if (line.bid < Price{}) return "a bid below zero";
        held += line.count;
    }
    if (held > world.instances_max) {
        return fmt::format("{} instances where {} are allowed", held, world.instances_max);
    }
    std::string impossible;
    for_each_line(plan_fields, [&](const auto& field) {
        if (!impossible.empty() || field.possible(to.*field.planned)) return;
        impossible = fmt::format(fmt::runtime(field.refused), number_in(to.*field.planned));
    });
    if (!impossible.empty()) return impossible;
    const auto& known = world.synchronisations;
    if (!known.empty() && std::ranges::find(known, to.synchronisation) == known.end()) {
        return fmt::format("{}, which the {} does not have",
                           synchronisation_names()[static_cast<std::size_t>(to.synchronisation)],
                           world.world);
    }
    const bool depth_known =
        world.stages.empty() ||
        std::ranges::find(world.stages, to.layout.pipeline) != world.stages.end();
    if (!depth_known) {
        return fmt::format("pipelines of {} stages, whose steps the {} does not know",
                           to.layout.pipeline, world.world);
    }
    if (to.learners_per_gpu > world.learners_max) {
        return fmt::format("{} learners per GPU where the {} knows the steps of {} at most",
                           to.learners_per_gpu, world.world, world.learners_max);
    }
    if (!world.learners_code && to.codec != Codec::none && to.learners_per_gpu > 1) {
        return fmt::format("a codec beside several learners a worker, which the {} cannot cost",
                           world.world);
    }
    const std::string codec = codec_refusal(world, to);
    if (!codec.empty()) return codec;
    if (!samples_can_be_counted(world, to)) return "more samples in a step than can be counted";
    return {};
}

std::string policy_conflict(std::span<const std::unique_ptr<Policy>> policies,
                            const Capabilities& capabilities) {
    for (std::size_t later = 0; later < policies.size(); ++later) {
        const Policy& policy = *policies[later];
        for (std::size_t index = 0; index < knob_count; ++index) {
            const Knob knob = static_cast<Knob>(index);
            if (policy.knobs().has(knob) && !capabilities.knobs.has(knob)) {
                return fmt::format(
                    "policy \"{}\" turns the knob \"{}\", which the {} cannot turn "
                    "(it turns {})",
                    policy.name(), name_of(knob), capabilities.world,
                    knob_list(capabilities.knobs));
            }
        }
        for (std::size_t index = 0; index < hook_count; ++index) {
            const Hook hook = static_cast<Hook>(index);
            if (!policy.hooks().has(hook) || capabilities.hooks.has(hook)) continue;
            return fmt::format("policy \"{}\" has the hook \"{}\", which the {} never calls",
                               policy.name(), hook_names()[index], capabilities.world);
        }
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            const KnobSet both = policy.knobs() & policies[earlier]->knobs();
            if (both.empty()) continue;
            return fmt::format("policies \"{}\" and \"{}\" both turn {}", policies[earlier]->name(),
                               policy.name(), knob_list(both));
        }
    }
    return {};
}

Controller::Controller(ControllerSetup setup)
    : plan_(std::move(setup.plan)),
      capabilities_(std::move(setup.capabilities)),
      predictor_(std::move(setup.predictor)),
      oracle_(setup.oracle),
      log_(setup.log),
      samples_total_(setup.samples_total),
      samples_per_epoch_(setup.samples_per_epoch) {
    INVARIANT(predictor_ != nullptr);
    INVARIANT(samples_total_ > 0 && samples_per_epoch_ >= 0);
    INVARIANT(policy_conflict(setup.policies, capabilities_).empty());
    INVARIANT(refusal(capabilities_, plan_).empty());
    for (auto& policy : setup.policies) {
        const KnobSet knobs = policy->knobs();
        const HookSet hooks = policy->hooks();
        hooks_ = hooks_ | hooks;
        RandomStream random(setup.seed, stream_name(*policy));
        const std::int64_t every_steps = policy->every_steps();
        INVARIANT(every_steps > 0);
        slots_.push_back(Slot{std::move(policy), random, knobs, hooks, every_steps});
    }
    answers_.reserve(slots_.size());
}

void Controller::steps_finished(std::int64_t steps, std::int32_t workers) {
    std::int64_t samples = 0;
    INVARIANT(!__builtin_mul_overflow(steps, samples_per_step(plan_, workers), &samples));
    uneven_steps_finished(steps, samples);
}

void Controller::uneven_steps_finished(std::int64_t steps, std::int64_t samples) {
    INVARIANT(steps >= 0 && samples >= 0);
    steps_done_ += steps;
    samples_done_ += samples;
    if (steps > 0) boundary_ = Boundary::after_step;
}

void Controller::rolled_back(std::int64_t samples, std::int64_t steps) {
    INVARIANT(samples >= 0 && samples <= samples_done_);
    INVARIANT(steps >= 0 && steps <= steps_done_);
    const std::int64_t asked = boundary_ == Boundary::past ? steps_done_ : steps_done_ - 1;
    for (Slot& slot : slots_) {
        slot.went_back = slot.went_back || asked - asked % slot.every_steps > steps;
    }
    if (steps < steps_done_) boundary_ = Boundary::before_epoch;
    samples_done_ = samples;
    steps_done_ = steps;
    if (epochs_in(samples) >= epoch_) return;
    epoch_ = epochs_in(samples);
    epoch_begun_ = false;
}

void Controller::work_is_left(std::int64_t samples) {
    INVARIANT(samples >= 0 && samples_per_epoch_ > 0);
    INVARIANT(!__builtin_add_overflow(samples_done_, samples, &samples_total_));
}

void Controller::resume_at(std::int64_t samples, std::int64_t steps) {
    INVARIANT(samples >= 0 && steps >= 0);
    samples_done_ = samples;
    steps_done_ = steps;
    boundary_ = Boundary::before_epoch;
    epoch_ = epochs_in(samples);
    epoch_begun_ = false;  // these policies have seen none of it
}

std::int64_t Controller::epochs_in(std::int64_t samples) const {
    return samples / (samples_per_epoch_ > 0 ? samples_per_epoch_ : samples_total_);
}

bool Controller::is_turn(const Slot& slot, Hook hook) const {
    return steps_done_ % slot.every_steps == 0 || (hook == Hook::before_step && slot.went_back);
}

bool Controller::step_hook_due(Hook hook) const {
    return std::ranges::any_of(
        slots_, [&](const Slot& slot) { return slot.hooks.has(hook) && is_turn(slot, hook); });
}

bool Controller::due(Boundary at) const {
    const bool ended = epochs_in(samples_done_) > epoch_;
    switch (at) {
        case Boundary::after_step: return step_hook_due(Hook::after_step);
        case Boundary::after_epoch: return hooks_.has(Hook::after_epoch) && ended;
        case Boundary::before_epoch:
            return hooks_.has(Hook::before_epoch) && (ended || !epoch_begun_) && !finished();
        case Boundary::before_step: return step_hook_due(Hook::before_step) && !finished();
        case Boundary::past: return false;
    }
    INVARIANT(false);
    return false;
}

std::optional<ControlEvent> Controller::next_hook() {
    static constexpr std::array hooks{Hook::after_step, Hook::after_epoch, Hook::before_epoch,
                                      Hook::before_step};
    while (boundary_ != Boundary::past) {
        const Boundary here = boundary_;
        const bool wanted = due(here);
        boundary_ = static_cast<Boundary>(static_cast<int>(here) + 1);
        if (here == Boundary::before_epoch) {
            epoch_ = epochs_in(samples_done_);
            epoch_begun_ = true;
        }
        if (wanted) return ControlEvent{hooks[static_cast<std::size_t>(here)], EventKind::none};
    }
    return std::nullopt;
}

bool Controller::looks_at_ages() const {
    return std::ranges::any_of(slots_,
                               [](const Slot& slot) { return slot.policy->looks_at_ages(); });
}

bool Controller::looks_at_workers() const {
    return std::ranges::any_of(slots_,
                               [](const Slot& slot) { return slot.policy->looks_at_workers(); });
}

Instant Controller::machines_ask_at() const {
    constexpr KnobSet of_machines{Knob::zone,  Knob::instance_type, Knob::market,
                                  Knob::count, Knob::bid,           Knob::workers};
    Instant first = Instant::never();
    for (const Slot& slot : slots_) {
        if (!(slot.knobs & of_machines).empty()) first = std::min(first, slot.ask_at);
    }
    return first;
}

std::optional<std::int64_t> Controller::steps_until_hook(std::int32_t workers) const {
    if (finished()) return std::nullopt;
    std::optional<std::int64_t> least;
    const auto consider = [&](std::int64_t steps) {
        least = std::min(steps, least.value_or(steps));
    };
    for (const Slot& slot : slots_) {
        if (!slot.hooks.has(Hook::before_step) && !slot.hooks.has(Hook::after_step)) continue;
        consider(slot.every_steps - steps_done_ % slot.every_steps);
    }
    if (hooks_.has(Hook::before_epoch) || hooks_.has(Hook::after_epoch)) {
        const std::int64_t per_step = samples_per_step(plan_, workers);
        INVARIANT(per_step > 0);
        const std::int64_t epoch = samples_per_epoch_ > 0 ? samples_per_epoch_ : samples_total_;
        const std::int64_t left = epoch - samples_done_ % epoch;
        consider((left - 1) / per_step + 1);
    }
    return least;
}

// Where machines are bought depends on what is bought: the policy that places them is asked last,
// about the Plan with the market that was just chosen. So a change of both is one change, and not
// two in a row that each stop the group.
// What saving takes counts in what a deadline leaves: a rule that a clock asks but once a tick must
// see it from its first answer on, so those that save are asked before it.
void Controller::ask_all(const ControlEvent& event, const Observation& seen) {
    enum class Turn : std::uint8_t { saves, buys, places };
    constexpr KnobSet of_saving{Knob::checkpoint_interval, Knob::checkpoint_on_notice};
    const bool first_of_clock =
        event.hook == Hook::before_train && seen.decision_interval > Duration{};
    const auto turn_of = [&](const Slot& slot) {
        if (slot.knobs.has(Knob::zone) && !slot.knobs.has(Knob::market)) return Turn::places;
        const bool saves = first_of_clock && !slot.knobs.empty() && of_saving.includes(slot.knobs);
        return saves ? Turn::saves : Turn::buys;
    };
    const auto ask_those = [&](Turn turn, const Plan& plan) {
        const auto ask_in_turn = [&](Slot& slot) {
            if (turn_of(slot) == turn) ask(slot, event, seen, plan);
        };
        if (runs_in_reverse(event.hook)) {
            std::ranges::for_each(slots_.rbegin(), slots_.rend(), ask_in_turn);
        } else {
            std::ranges::for_each(slots_, ask_in_turn);
        }
    };
    std::optional<Plan> as_saved;
    if (first_of_clock) {
        ask_those(Turn::saves, plan_);
        as_saved = plan_;
        for (const PolicyAnswer& answer : answers_) apply(answer.decision, *as_saved);
    }
    const Plan& before = as_saved ? *as_saved : plan_;
    ask_those(Turn::buys, before);
    ask_those(Turn::places, plan_as_bought(before));
}

const Plan& Controller::plan_as_bought(const Plan& before) {
    for (const PolicyAnswer& answer : answers_) {
        if (!answer.decision.market || repeats_market(answer.decision, before)) continue;
        bought_ = before;
        for (FleetLine& line : bought_.fleet) line.market = *answer.decision.market;
        return bought_;  // no other policy turns it
    }
    return before;
}

bool Controller::is_asked(const Slot& slot, const ControlEvent& event) const {
    const bool of_step = event.hook == Hook::before_step || event.hook == Hook::after_step;
    return slot.hooks.has(event.hook) && (!of_step || is_turn(slot, event.hook));
}

void Controller::ask(Slot& slot, const ControlEvent& event, const Observation& seen,
                     const Plan& plan) {
    if (!is_asked(slot, event)) return;
    Policy& policy = *slot.policy;
    const PolicyView view{seen,
                          plan,
                          *predictor_,
                          oracle_,
                          slot.random,
                          capabilities_.instances_max,
                          capabilities_.learners_max,
                          samples_per_epoch_};
    const auto answer = [&]() -> Decision {
        switch (event.hook) {
            case Hook::before_train: return policy.before_train(view);
            case Hook::before_epoch: return policy.before_epoch(view);
            case Hook::before_step: return policy.before_step(view);
            case Hook::on_event: return policy.on_event(event.kind, view);
            case Hook::after_step: return policy.after_step(view);
            case Hook::after_epoch: return policy.after_epoch(view);
            case Hook::after_train: return policy.after_train(view);
        }
        INVARIANT(false);
        return {};
    };
    if (event.hook == Hook::before_step) slot.went_back = false;
    answers_.emplace_back(policy.name(), answer());
    const Decision& decision = answers_.back().decision;
    if (decision.ask_again_in) {
        INVARIANT(*decision.ask_again_in > Duration{});
        slot.ask_at = seen.now + *decision.ask_again_in;
    } else if (event.hook == Hook::on_event || slot.ask_at <= seen.now) {
        slot.ask_at = Instant::never();
    }
    INVARIANT(slot.knobs.includes(knobs_turned(decision)));  // a policy declares what it turns
}

std::string_view Controller::asks_first() const {
    for (const Slot& slot : slots_) {
        if (slot.ask_at == ask_at_ && ask_at_ < Instant::never()) return slot.policy->name();
    }
    return {};
}

// Puts all answers into one next Plan; null if it says what the Plan says already.
const Plan* Controller::merge(std::string& refused) {
    bool any = false;
    for (const PolicyAnswer& answer : answers_) {
        if (knobs_turned(answer.decision).empty()) continue;
        if (!any && repeats_market(answer.decision, plan_)) continue;
        if (!any) next_ = plan_;
        any = true;
        apply(answer.decision, next_);
    }
    if (any) {
        for (const PolicyAnswer& answer : answers_) apply_bids(answer.decision, next_);
    }
    if (!any || next_ == plan_) return nullptr;
    refused = refusal(capabilities_, next_);
    if (!refused.empty()) {
        if (refused_count_++ == 0) first_refusal_ = refused;
        return nullptr;
    }
    next_.version = PlanVersion{index_of(plan_.version) + 1};
    return &next_;
}

std::optional<Plan> Controller::propose(const ControlEvent& event, Observation& seen) {
    INVARIANT(!proposed_);
    seen.samples_done = samples_done_;
    seen.samples_total = samples_total_;
    seen.steps_done = steps_done_;
    seen.epoch = samples_per_epoch_ > 0 ? samples_done_ / samples_per_epoch_ : 0;
    predictor_->observe(seen, plan_);
    // Of many hosts there are many, in each line of the log.
    const bool links_asked = std::ranges::any_of(slots_, [&](const Slot& slot) {
        return slot.policy->looks_at_links() && is_asked(slot, event);
    });
    if (!links_asked) seen.links.clear();
    answers_.clear();
    ask_all(event, seen);
    ask_at_ = Instant::never();
    for (const Slot& slot : slots_) ask_at_ = std::min(ask_at_, slot.ask_at);

    std::string refused;
    const Plan* next = merge(refused);
    if (log_ != nullptr) log_->question({event, seen, answers_, next, refused});
    if (next == nullptr) return std::nullopt;
    proposed_ = true;
    return *next;
}

void Controller::committed(PlanVersion version) {
    INVARIANT(proposed_ && version == next_.version);
    proposed_ = false;
    std::swap(plan_, next_);
    if (log_ != nullptr) log_->committed(version);
    for (Slot& slot : slots_) slot.policy->committed(plan_);
}

void Controller::discarded(PlanVersion version, std::string_view why) {
    INVARIANT(proposed_ && version == next_.version);
    proposed_ = false;
    if (log_ != nullptr) log_->discarded(version, why);
    for (Slot& slot : slots_) slot.policy->discarded(next_, why);
}

std::span<const std::string_view> hook_names() {
    static constexpr std::array<std::string_view, hook_count> names{
        "before_train", "before_epoch", "before_step", "on_event",
        "after_step",   "after_epoch",  "after_train"};
    return names;
}

std::span<const std::string_view> event_kind_names() {
    static constexpr std::array<std::string_view, event_kind_count> names{"none",
                                                                          "clock",
                                                                          "price_changed",
                                                                          "phase_changed",
                                                                          "capacity_changed",
                                                                          "instances_ready",
                                                                          "straggler",
                                                                          "instances_lost",
                                                                          "revocation_notice"};
    return names;
}

}  // namespace ukemi::policies
