// scheduled_resize.cpp — sizes that somebody wrote down, each for so many steps.
//
// KungFu's step_based_schedule ("size:steps,size:steps,…"; Mai et al., OSDI'20): a size holds for
// its number of steps, the last one until the end. In lists of policies, where a comma is between
// policies, "/" stands for it.
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/policy.hpp"

namespace ukemi::policies {

namespace {

struct ScheduledSize {
    std::int32_t workers = 1;
    std::int64_t until_step = 0;
};

class ScheduledResize final : public Policy {
public:
    explicit ScheduledResize(std::vector<ScheduledSize> sizes) : sizes_(std::move(sizes)) {}
    std::string_view name() const override { return "scheduled_resize"; }
    KnobSet knobs() const override { return {Knob::count, Knob::workers}; }
    HookSet hooks() const override { return {Hook::before_train, Hook::after_step}; }

    Decision before_train(const PolicyView& view) override { return size_now(view); }
    Decision after_step(const PolicyView& view) override { return size_now(view); }

private:
    Decision size_now(const PolicyView& view) const {
        if (sizes_.empty()) return {};
        std::size_t at = 0;
        while (at + 1 < sizes_.size() && view.seen.steps_done >= sizes_[at].until_step) ++at;
        if (sizes_[at].workers == view.plan.workers_max) return {};
        Decision decision = resized_to(sizes_[at].workers);
        decision.reason = "the schedule says so";
        return decision;
    }

    std::vector<ScheduledSize> sizes_;
};

// "4:100" at the front of `text`, with what follows left there. Zero workers if it is none.
ScheduledSize take_size(std::string_view& text, std::int64_t from_step) {
    constexpr std::int64_t most = 1'000'000'000;
    const char* const end = text.data() + text.size();
    ScheduledSize size;
    std::int64_t steps = 0;
    const auto [colon, bad_size] = std::from_chars(text.data(), end, size.workers);
    if (bad_size != std::errc{} || colon == end || *colon != ':') return {0, 0};
    const auto [rest, bad_steps] = std::from_chars(colon + 1, end, steps);
    if (bad_steps != std::errc{} || size.workers < 1 || steps < 1 || steps > most) return {0, 0};
    text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
    size.until_step = from_step + steps;
    return size;
}

}  // namespace

std::unique_ptr<Policy> make_scheduled_resize(ConfigReader& parameters) {
    constexpr std::size_t sizes_most = 10'000;
    const std::string schedule = parameters.text("schedule", "");
    std::vector<ScheduledSize> sizes;
    std::string_view left = schedule;
    while (!left.empty()) {
        const ScheduledSize size = take_size(left, sizes.empty() ? 0 : sizes.back().until_step);
        const bool goes_on = left.size() > 1 && (left.front() == ',' || left.front() == '/');
        if (size.workers < 1 || (!left.empty() && !goes_on) || sizes.size() == sizes_most) {
            parameters.fail("schedule", "expected sizes and steps as in \"1:100,2:200\"");
        }
        if (goes_on) left.remove_prefix(1);
        sizes.push_back(size);
    }
    return std::make_unique<ScheduledResize>(std::move(sizes));
}

}  // namespace ukemi::policies
