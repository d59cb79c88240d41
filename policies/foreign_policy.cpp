#include "policies/foreign_policy.hpp"

#include <fmt/format.h>

#include <functional>
#include <mutex>
#include <set>
#include <stdexcept>

namespace ukemi::policies {

namespace {

// The longest beginning that is no longer, and ends with a whole character of UTF-8.
std::string_view beginning(std::string_view text, std::size_t bytes_max) {
    if (text.size() <= bytes_max) return text;
    std::size_t size = bytes_max;
    while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
    return text.substr(0, size);
}

// To find the moment in a log, and not to read nanoseconds.
std::string readable_time(Duration time) {
    const double s = to_seconds(time);
    constexpr double hour_s = 3600;
    if (s >= 3 * hour_s) return fmt::format("{:.6g} h", s / hour_s);
    if (s >= 1 || s == 0) return fmt::format("{:.6g} s", s);
    if (s >= 1e-3) return fmt::format("{:.6g} ms", s * 1e3);
    return fmt::format("{:.6g} us", s * 1e6);
}

}  // namespace

std::string_view lasting_reason(std::string_view reason) {
    static std::mutex mutex;
    static std::set<std::string, std::less<>> reasons;
    reason = beginning(reason, reason_bytes_max);
    const std::scoped_lock lock(mutex);
    const auto known = reasons.find(reason);
    if (known != reasons.end()) return *known;
    if (reasons.size() >= reasons_max) return "(not kept: too many different reasons)";
    return *reasons.emplace(reason).first;
}

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
                       readable_time(view.seen.now.since_start()));
}

}  // namespace ukemi::policies
