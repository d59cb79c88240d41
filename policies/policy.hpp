// policy.hpp — the one interface that an adaptation idea has to implement.
//
// A policy maps what is known to what should change. It reads no clock, draws only from its own
// named random stream, does no I/O and keeps no pointer to what it was shown: that is what lets the
// simulator, the live runtime and replay-log call the very same object. It may keep state; then it
// must be the same after the same calls. It declares the knobs that it turns and the hooks that it
// has, so that a world may skip what nobody looks at.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "base/rng.hpp"
#include "policies/decision.hpp"
#include "policies/observation.hpp"
#include "policies/predictor.hpp"

namespace ukemi::policies {

// Where a policy is called. before_* run in list order, after_* in reverse (KungFu's rule).
enum class Hook : std::uint8_t {
    before_train,
    before_epoch,
    before_step,
    on_event,
    after_step,
    after_epoch,
    after_train,
};
inline constexpr std::size_t hook_count = 7;

// What an on_event call is about. When several things happened since the last question there is
// one call, about the most urgent: the last of them in this list. The Observation shows them all.
enum class EventKind : std::uint8_t {
    none,   // for the other hooks
    clock,  // the decision clock ticked, or a policy asked to be asked again
    price_changed,
    phase_changed,     // transition over, checkpoint over
    capacity_changed,  // spot capacity of a zone rose or fell
    instances_ready,
    straggler,
    instances_lost,
    revocation_notice,  // see Observation::notices
};
inline constexpr std::size_t event_kind_count = 9;

struct ControlEvent {
    Hook hook = Hook::on_event;
    EventKind kind = EventKind::none;
    friend bool operator==(const ControlEvent&, const ControlEvent&) = default;
};

class HookSet {
public:
    constexpr HookSet() = default;
    constexpr HookSet(std::initializer_list<Hook> hooks) {
        for (const Hook hook : hooks) bits_ |= bit(hook);
    }
    constexpr bool has(Hook hook) const { return (bits_ & bit(hook)) != 0; }
    friend constexpr HookSet operator|(HookSet a, HookSet b) {
        a.bits_ |= b.bits_;
        return a;
    }

private:
    static constexpr unsigned bit(Hook hook) { return 1U << static_cast<unsigned>(hook); }
    unsigned bits_ = 0;
};

inline constexpr HookSet every_hook{Hook::before_train, Hook::before_epoch, Hook::before_step,
                                    Hook::on_event,     Hook::after_step,   Hook::after_epoch,
                                    Hook::after_train};

std::span<const std::string_view> hook_names();
std::span<const std::string_view> event_kind_names();

// What a policy is shown. All policies at one boundary see the same Observation.
struct PolicyView {
    const Observation& seen;
    const Plan& plan;  // as committed; to who turns the zone alone, with the market just chosen
    const Predictor& predictor;
    const Oracle* oracle;  // null unless the scenario names one
    RandomStream& random;  // this policy's own: "policy/<name>"
    // That a Plan may hold at most, as the world's capabilities say.
    std::int32_t instances_max = std::numeric_limits<std::int32_t>::max();
    std::int32_t learners_max = std::numeric_limits<std::int32_t>::max();  // the same, on each GPU
    std::int64_t samples_per_epoch = 0;  // of the job; zero: nobody named epochs
    // Of workers where on-demand would be bought, as a policy that places machines tells the rule
    // that it asks; zero: that of the Plan's zones (market/zone_speed.hpp).
    std::int32_t on_demand_speed_per_mille = 0;
};

class Policy {
public:
    virtual ~Policy() = default;

    virtual std::string_view name() const = 0;  // as in scenarios and results; never changes
    virtual KnobSet knobs() const = 0;
    virtual HookSet hooks() const = 0;
    // With before_step or after_step among the hooks: asked at every n-th step.
    virtual std::int64_t every_steps() const { return 1; }
    virtual bool looks_at_ages() const { return false; }  // Observation::spot_since is filled in
    // Observation::worker_views is filled in, also where nothing sets one worker apart from
    // another.
    virtual bool looks_at_workers() const { return false; }
    virtual bool looks_at_links() const { return false; }  // Observation::links is filled in

    virtual Decision before_train(const PolicyView&) { return {}; }
    virtual Decision before_epoch(const PolicyView&) { return {}; }
    virtual Decision before_step(const PolicyView&) { return {}; }
    virtual Decision on_event(EventKind, const PolicyView&) { return {}; }
    virtual Decision after_step(const PolicyView&) { return {}; }
    virtual Decision after_epoch(const PolicyView&) { return {}; }
    virtual Decision after_train(const PolicyView&) { return {}; }

    // What became of a Plan that this job's policies proposed together.
    virtual void committed(const Plan&) {}
    virtual void discarded(const Plan&, std::string_view /*why*/) {}
};

}  // namespace ukemi::policies
