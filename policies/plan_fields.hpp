// plan_fields.hpp — the tables of what a Plan holds and of what a Decision may say.
//
// One line a field: its key in logs, the knob that it is, the members of Plan and Decision, what a
// change of it restarts, and which values there are. Logs, digests, apply, comparisons, refusals
// and tests go over these tables and know no field by name. So a knob is a member in Plan and in
// Decision, a line here, a test, and the code that carries it out. Keys are data: they appear in
// logs.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <vector>

#include "base/field_table.hpp"
#include "policies/decision.hpp"
#include "policies/plan.hpp"

namespace ukemi::policies {

// What begins anew when a field changes while a group trains.
enum class Restarted : std::uint8_t {
    nothing,   // the field is read where it is acted on
    segment,   // the steps and the checkpoint that were planned ahead
    training,  // those, and the program of a job that cannot change within a run
};

template <class Value>
struct FleetWish {  // of a Decision, about what is bought
    const char* key;
    KnobSet knobs;
    std::optional<Value> Decision::*decided;
};

template <class Value>
struct PlanField {  // what a Plan says, and a Decision may
    const char* key;
    KnobSet knobs;
    Value Plan::*planned;
    std::optional<Value> Decision::*decided;
    Restarted restarted;
    bool (*possible)(const Value&);
    const char* refused;  // of a value, "{}", that is not possible in any world
    Written written;
};

namespace plan_values {

template <class Value>
bool every(const Value&) {
    return true;
}
template <std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max()>
bool from(const auto& value) {
    return value >= least && value <= most;
}
inline bool finite(const double& value) { return std::isfinite(value); }
inline bool not_negative(const double& value) { return value >= 0 && std::isfinite(value); }
inline bool positive(const Duration& value) { return value > Duration{}; }
inline bool whole_layout(const Layout& value) {
    return value.data >= 1 && value.pipeline >= 1 && value.tensor >= 1;
}
bool ascending(const std::vector<InstanceId>& ids);
// Host 0 is its own parent, and every way up ends there; or there is none.
bool tree(const std::vector<std::int32_t>& parents);

}  // namespace plan_values

template <class Value>
constexpr FleetWish<Value> fleet_wish(const char* key, KnobSet knobs,
                                      std::optional<Value> Decision::*decided) {
    return {key, knobs, decided};
}

template <class Value>
constexpr PlanField<Value> plan_field(
    const char* key, Knob knob, Value Plan::*planned, std::optional<Value> Decision::*decided,
    Restarted restarted, std::type_identity_t<bool (*)(const Value&)> possible = plan_values::every,
    const char* refused = "", Written written = Written::always) {
    return {key, {knob}, planned, decided, restarted, possible, refused, written};
}

inline constexpr std::tuple fleet_wishes{
    fleet_wish("market_counts", {Knob::zone, Knob::market, Knob::count}, &Decision::market_counts),
    fleet_wish("zone_counts", {Knob::zone, Knob::count}, &Decision::zone_counts),
    fleet_wish("market", {Knob::market}, &Decision::market),
    fleet_wish("count", {Knob::count}, &Decision::count),
    fleet_wish("bid_nano_usd_per_hour", {Knob::bid}, &Decision::bid),
    fleet_wish("zone_bids", {Knob::bid}, &Decision::zone_bids),
};

// All of a Plan but its version and its fleet. A line that comes later is written
// unless_default, so that logs and digests of runs that do not use it stay as they are.
inline constexpr std::tuple plan_fields{
    plan_field("workers_max", Knob::workers, &Plan::workers_max, &Decision::workers_max,
               Restarted::nothing, plan_values::from<1>, "{} workers"),
    plan_field("learners_per_gpu", Knob::learners_per_gpu, &Plan::learners_per_gpu,
               &Decision::learners_per_gpu, Restarted::training, plan_values::from<1>,
               "{} learners per GPU"),
    plan_field("batch_per_learner", Knob::batch, &Plan::batch_per_learner,
               &Decision::batch_per_learner, Restarted::training, plan_values::from<1>,
               "a batch of {}"),
    plan_field("global_batch", Knob::batch, &Plan::global_batch, &Decision::global_batch,
               Restarted::training, plan_values::from<0, 1'000'000'000>, "a global batch of {}"),
    plan_field("accumulation", Knob::accumulation, &Plan::accumulation, &Decision::accumulation,
               Restarted::training, plan_values::from<1>, "accumulation of {} steps"),
    plan_field("checkpoint_interval_ns", Knob::checkpoint_interval, &Plan::checkpoint_interval,
               &Decision::checkpoint_interval, Restarted::segment, plan_values::positive,
               "a checkpoint interval that is not positive"),
    plan_field("learning_rate", Knob::learning_rate, &Plan::learning_rate, &Decision::learning_rate,
               Restarted::training, plan_values::not_negative, "a learning rate of {}"),
    plan_field("synchronisation", Knob::synchronisation, &Plan::synchronisation,
               &Decision::synchronisation, Restarted::training),
    plan_field("collective", Knob::collective, &Plan::collective, &Decision::collective,
               Restarted::segment),
    plan_field("codec", Knob::codec, &Plan::codec, &Decision::codec, Restarted::training),
    plan_field("codec_level", Knob::codec, &Plan::codec_level, &Decision::codec_level,
               Restarted::training, plan_values::finite, "a codec level of {}"),
    plan_field("layout", Knob::layout, &Plan::layout, &Decision::layout, Restarted::nothing,
               plan_values::whole_layout, "a layout with nothing in one direction"),
    plan_field("checkpoint_on_notice", Knob::checkpoint_on_notice, &Plan::checkpoint_on_notice,
               &Decision::checkpoint_on_notice, Restarted::nothing),
    plan_field("replaced", Knob::machines, &Plan::replaced, &Decision::replaced, Restarted::nothing,
               plan_values::ascending, "machines to replace that are not in ascending order",
               Written::unless_default),
    plan_field("tree", Knob::collective, &Plan::tree, &Decision::tree, Restarted::segment,
               plan_values::tree, "no tree of hosts with host 0 at its root",
               Written::unless_default),
};

inline constexpr std::tuple decision_fields = std::tuple_cat(fleet_wishes, plan_fields);

static_assert(member_count<Plan>() == 2 + line_count(plan_fields));
static_assert(member_count<Decision, std::nullopt_t>() == line_count(decision_fields) + 1,
              "all that is optional, and ask_again_in");

// What carrying out `after` begins anew: the most that any changed field does.
Restarted restarted_by(const Plan& before, const Plan& after);

}  // namespace ukemi::policies
