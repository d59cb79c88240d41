#include "records/logged_controller.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/config_reader.hpp"
#include "policies/predictor_choice.hpp"
#include "policies/registry.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

using nlohmann::json;

namespace {

// Refuses what would take the stack to walk through.
json parsed(std::string_view line) {
    constexpr int depth_max = 64;
    return json::parse(line, [](int depth, json::parse_event_t, const json&) {
        if (depth > depth_max) throw std::invalid_argument("nested too deep");
        return true;
    });
}

policies::PredictorChoice predictor_from(const json& object) {
    policies::PredictorChoice choice;
    Fields fields(object);
    const auto share = [&](const char* key, double& value, double least, double most) {
        fields.real(key, value);
        if (!(value >= least && value <= most)) Fields::refuse(key, "a share within its range");
    };
    fields.name("kind", policies::predictor_kind_names, choice.kind);
    share("step_time", choice.step_time, policies::predictor_share_min,
          policies::predictor_share_max);
    share("transition_time", choice.transition_time, policies::predictor_share_min,
          policies::predictor_share_max);
    share("checkpoint_time", choice.checkpoint_time, policies::predictor_share_min,
          policies::predictor_share_max);
    share("spread", choice.spread, 0, policies::predictor_spread_max);
    fields.finish();
    return choice;
}

}  // namespace

LoggedController::LoggedController(std::string_view file, policies::ControllerLog& log)
    : file_(file), log_(log) {}

void LoggedController::line(std::string_view text, std::size_t number, const Take& take) {
    line_ = number;
    try {
        const json object = parsed(text);
        Fields fields(object);
        std::string record;
        fields.text("record", record);
        take(record, fields);
    } catch (const json::exception& error) {
        fail(error.what());
    } catch (const std::invalid_argument& error) {
        fail(error.what());
    }
}

void LoggedController::fail(std::string_view problem) const {
    throw InputError(file_, std::max<std::size_t>(line_, 1), 1, problem);
}

void LoggedController::header(Fields& fields) {
    if (controller_) fail("a second header");
    std::int64_t version = 0;
    std::string questions;
    std::string ignored;
    bool oracle = false;
    policies::ControllerSetup setup;
    fields.integer("version", version);
    if (version != log_version) fail(fmt::format("expected version {}", log_version));
    fields.text("world", ignored);
    fields.text("trace", ignored);
    fields.text("policy", ignored);
    fields.text("scenario", scenario_);
    fields.integer("seed", setup.seed);
    fields.text("questions", questions);
    fields.flag("oracle", oracle);
    if (oracle) fail("its policies asked an oracle, which a log does not hold");
    if (questions != "all") {
        fail(
            "holds only the questions that led to a change; "
            "record the run again with --log-observations");
    }
    fields.flag("learned", learned_);
    fields.integer("samples_total", setup.samples_total);
    fields.integer("samples_per_epoch", setup.samples_per_epoch);
    if (setup.samples_total < 1 || setup.samples_per_epoch < 0) fail("no samples to train on");
    if (learned_ && setup.samples_per_epoch < 1) fail("something is learned without epochs");
    setup.plan = plan_from(fields.need("plan"));
    setup.capabilities = capabilities_from(fields.need("capabilities"));
    if (setup.capabilities.workers_min > setup.capabilities.instances_max) {
        fail("fewer instances than the job needs");
    }
    policies::PredictorChoice predictor;
    if (const json* named = fields.find("predictor")) predictor = predictor_from(*named);
    setup.predictor =
        policies::make_predictor(predictor, profile_from(fields.need("profile")), setup.seed);
    fields.list("policies", [&](const json& one) { add_policy(setup, one); });
    fields.finish();
    const std::string conflict = policies::policy_conflict(setup.policies, setup.capabilities);
    if (!conflict.empty()) fail(conflict);
    if (!policies::refusal(setup.capabilities, setup.plan).empty()) {
        fail("the first Plan is not possible");
    }
    setup.log = &log_;
    workers_min_ = setup.capabilities.workers_min;
    controller_ = std::make_unique<policies::Controller>(std::move(setup));
}

void LoggedController::add_policy(policies::ControllerSetup& setup, const json& object) {
    Fields fields(object);
    std::string name;
    fields.text("name", name);
    const policies::PolicyEntry* entry = policies::find_policy(name);
    if (entry == nullptr) fail(policies::no_such_policy(name));
    if (entry->needs_oracle) fail(fmt::format("policy \"{}\" asks an oracle", name));
    needs_deadline_ = needs_deadline_ || entry->needs_deadline;
    ConfigReader parameters = ConfigReader::from_text(fields.need("parameters").dump(),
                                                      fmt::format("{}:{}:1", file_, line_));
    setup.policies.push_back(policies::make_policy(*entry, parameters));
    fields.finish();
}

// What the Controller and the policies take for granted of a world.
void LoggedController::check(const policies::Observation& seen) {
    if (seen.now < last_question_at_) fail("time runs backwards");
    last_question_at_ = seen.now;
    if (learned_ && seen.samples_total < seen.samples_done) fail("more samples than there are");
    if (!learned_ && seen.samples_total != controller_->samples_total()) {
        fail(fmt::format("\"samples_total\": expected {} as in the header, found {}",
                         controller_->samples_total(), seen.samples_total));
    }
    if (seen.workers_min != workers_min_) {
        fail(fmt::format("\"workers_min\": expected {} as in the header, found {}", workers_min_,
                         seen.workers_min));
    }
    if (needs_deadline_ && !(seen.deadline > Instant{} && seen.deadline < Instant::never())) {
        fail("no deadline, which its policies need");
    }
}

std::optional<policies::Plan> LoggedController::ask(const policies::ControlEvent& event,
                                                    policies::Observation& seen) {
    if (controller_->awaiting_commit()) fail("a question before the last Plan was settled");
    check(seen);
    controller_->resume_at(seen.samples_done, seen.steps_done);
    if (learned_) controller_->work_is_left(seen.samples_total - seen.samples_done);
    return controller_->propose(event, seen);
}

void LoggedController::settle(bool is_committed, Fields& fields, bool as_proposed) {
    std::uint32_t version = 0;
    std::string why;
    fields.integer("version", version);
    fields.text("why", why);
    fields.finish();
    if (!controller_->awaiting_commit()) {
        if (as_proposed) fail("a Plan that nobody proposed");
        return;
    }
    const PlanVersion next{index_of(controller_->plan().version) + 1};
    if (as_proposed && version != index_of(next)) {
        fail(fmt::format("expected version {}", index_of(next)));
    }
    if (is_committed) {
        controller_->committed(next);
    } else {
        controller_->discarded(next, why);
    }
}

}  // namespace ukemi::records
