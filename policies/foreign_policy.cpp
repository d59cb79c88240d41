#include "policies/foreign_policy.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "base/unit_text.hpp"

namespace ukemi::policies {

ForeignPolicy::ForeignPolicy(std::string_view name, PolicyTraits traits)
    : name_(name), traits_(traits) {
    if (traits.every_steps < 1) throw std::invalid_argument("every_steps: expected at least 1");
}

void ForeignPolicy::expect_own_knobs(const Decision& decision) const {
    const KnobSet turned = knobs_turned(decision);
    if (traits_.knobs.includes(turned)) return;
    throw std::invalid_argument(
        fmt::format("turns {}, and its knobs are {}", knob_list(turned), knob_list(traits_.knobs)));
}

std::string ForeignPolicy::question_text(Hook hook, const PolicyView& view, EventKind kind) const {
    const auto about =
        hook == Hook::on_event
            ? fmt::format(" about {}", event_kind_names()[static_cast<std::size_t>(kind)])
            : "";
    return fmt::format("policy {}, {}{} at {} of scenario time", name_,
                       hook_names()[static_cast<std::size_t>(hook)], about,
                       format_duration(view.seen.now.since_start()));
}

}  // namespace ukemi::policies
