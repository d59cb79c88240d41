// batch_schedule.cpp — batches by a timetable: "256:30,1024:30,4096" is 256 for 30 epochs, then
// 1024 for 30, then 4096.
//
// KungFu's schedule of sizes ("size:steps", Mai et al., OSDI'20, step_based_schedule) with steps or
// epochs as the unit. The last size needs no length: it stays. In
// lists of policies, where a comma is between policies, "/" stands for it.
#include <fmt/format.h>

#include <charconv>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/config_reader.hpp"
#include "policies/batch/batch_view.hpp"

namespace ukemi::policies {

namespace {

struct BatchStage {
    std::int64_t batch = 1;
    std::int64_t until = 0;  // the first epoch or step that is not of it
};

class BatchSchedule final : public Policy {
public:
    BatchSchedule(std::vector<BatchStage> stages, bool by_epoch)
        : stages_(std::move(stages)), by_epoch_(by_epoch) {}
    std::string_view name() const override { return "batch_schedule"; }
    KnobSet knobs() const override { return {Knob::batch}; }
    HookSet hooks() const override {
        if (by_epoch_) return {Hook::before_train, Hook::before_epoch};
        return {Hook::before_train, Hook::before_step};
    }
    // Changes come at multiples of what all lengths have in common.
    std::int64_t every_steps() const override {
        std::int64_t shared = 0;
        for (const BatchStage& stage : stages_) shared = std::gcd(shared, stage.until);
        return by_epoch_ ? 1 : std::max<std::int64_t>(shared, 1);
    }

    Decision before_train(const PolicyView& view) override { return stage_now(view); }
    Decision before_epoch(const PolicyView& view) override { return stage_now(view); }
    Decision before_step(const PolicyView& view) override { return stage_now(view); }

private:
    Decision stage_now(const PolicyView& view) const {
        Decision decision;
        if (stages_.empty()) return decision;
        const std::int64_t at = by_epoch_ ? view.seen.epoch : view.seen.steps_done;
        const auto stage =
            std::ranges::find_if(stages_, [&](const BatchStage& one) { return at < one.until; });
        decision.global_batch = stage == stages_.end() ? stages_.back().batch : stage->batch;
        decision.reason = "by the timetable";
        return decision;
    }

    std::vector<BatchStage> stages_;  // empty: the first Plan's batch stays
    bool by_epoch_;
};

std::int64_t whole_number(ConfigReader& parameters, std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    if (!whole || number < 1 || number > batch_most) {
        parameters.fail("schedule", fmt::format("expected batches and lengths such as "
                                                "\"256:30,1024\", found \"{}\"",
                                                text));
    }
    return number;
}

}  // namespace

std::unique_ptr<Policy> make_batch_schedule(ConfigReader& parameters) {
    static constexpr std::array<std::string_view, 2> units{"epochs", "steps"};
    const std::string schedule = parameters.text("schedule", "");
    const bool by_epoch = parameters.one_of("unit", units, "epochs") == "epochs";
    std::vector<BatchStage> stages;
    std::string_view rest = schedule;
    std::int64_t until = 0;
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find_first_of(",/"));
        const bool last = one.size() == rest.size();
        const std::size_t colon = one.find(':');
        BatchStage stage{whole_number(parameters, one.substr(0, colon)), 0};
        if (colon != std::string_view::npos) {
            until += whole_number(parameters, one.substr(colon + 1));
        } else if (!last) {
            parameters.fail("schedule", "only the last batch needs no length");
        }
        stage.until = until;
        stages.push_back(stage);
        if (!last && one.size() + 1 == rest.size()) whole_number(parameters, "");
        rest.remove_prefix(last ? rest.size() : one.size() + 1);
    }
    return std::make_unique<BatchSchedule>(std::move(stages), by_epoch);
}

}  // namespace ukemi::policies
