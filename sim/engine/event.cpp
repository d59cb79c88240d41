#include "sim/engine/event.hpp"

#include <fmt/format.h>

#include <array>
#include <type_traits>

namespace ukemi::sim {

std::string_view event_kind(const Event& event) {
    static constexpr std::array<std::string_view, std::variant_size_v<Event>> names{
        "capacity_changed", "price_changed",  "instance_ready",   "instance_lost",
        "transition_ended", "checkpoint_due", "checkpoint_ended", "work_finished",
        "plan_due",         "clock_ticked",   "asked_again",      "settled",
        "gave_up",          "worker_started", "worker_failed",    "plan_agreed",
        "step_reached",     "launch_failed",  "lifetime_over",    "zone_gives_again",
        "phase_began",      "meeting_over",   "machines_taken",   "capacity_told",
        "price_told",       "loss_told",      "instance_recalled"};
    return names[event.index()];
}

std::int64_t event_subject(const Event& event) {
    return std::visit(
        [](const auto& one) -> std::int64_t {
            using One = std::decay_t<decltype(one)>;
            if constexpr (requires { one.zone; }) return index_of(one.zone);
            if constexpr (requires { one.instance; }) return index_of(one.instance);
            static_assert(sizeof(One) > 0);
            return -1;
        },
        event);
}

std::string EventHash::text() const { return fmt::format("{:016x}", state_); }

}  // namespace ukemi::sim
