#include "records/decision_log.hpp"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/config_reader.hpp"
#include "base/text_digest.hpp"
#include "policies/registry.hpp"
#include "records/json_fields.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

using nlohmann::json;

namespace {

constexpr int log_version = 1;
constexpr std::size_t differences_kept = 10;

// Names of files need not be UTF-8, and JSON must be.
std::string line_of(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

// Refuses what would take the stack to walk through.
json parsed(std::string_view line) {
    constexpr int depth_max = 64;
    return json::parse(line, [](int depth, json::parse_event_t, const json&) {
        if (depth > depth_max) throw std::invalid_argument("nested too deep");
        return true;
    });
}

json event_json(const policies::ControlEvent& event) {
    return {{"hook", policies::hook_names()[static_cast<std::size_t>(event.hook)]},
            {"kind", policies::event_kind_names()[static_cast<std::size_t>(event.kind)]}};
}

// Of an Observation's text: an altered one is found also where no policy looks at what was altered.
std::string digest_of(const json& seen) {
    return fmt::format("{:016x}",
                       text_digest(seen.dump(-1, ' ', false, json::error_handler_t::replace)));
}

json answers_json(std::span<const policies::PolicyAnswer> answers) {
    json list = json::array();
    for (const policies::PolicyAnswer& answer : answers) {
        if (answer.decision == policies::Decision{}) continue;  // nothing said
        list.push_back({{"policy", answer.policy}, {"decision", to_json(answer.decision)}});
    }
    return list;
}

json predictor_json(const policies::PredictorChoice& choice) {
    return {{"kind", policies::name_of(choice.kind)},
            {"step_time", choice.step_time},
            {"transition_time", choice.transition_time},
            {"checkpoint_time", choice.checkpoint_time},
            {"spread", choice.spread}};
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

DecisionLogHeader log_header_of(const policies::TrainingLoopSetup& setup,
                                std::string_view scenario) {
    DecisionLogHeader header;
    header.world = setup.capabilities.world;
    header.scenario = scenario;
    header.seed = setup.seed;
    header.all_questions = true;
    header.samples_total = setup.samples_total;
    header.samples_per_epoch = setup.samples_per_epoch;
    header.plan = setup.plan;
    header.capabilities = setup.capabilities;
    header.predictor = setup.predictor;
    header.profile = policies::profile_of(setup);
    for (policies::NamedPolicy& named : policies::policies_from_json(setup.policies)) {
        header.policies.push_back({std::move(named.name), std::move(named.parameters)});
    }
    return header;
}

DecisionLog::DecisionLog(const DecisionLogHeader& header) : all_questions_(header.all_questions) {
    json policies = json::array();
    for (const LoggedPolicy& policy : header.policies) {
        policies.push_back({{"name", policy.name}, {"parameters", json::parse(policy.parameters)}});
    }
    json line = {{"record", "header"},
                 {"version", log_version},
                 {"world", header.world},
                 {"scenario", header.scenario},
                 {"trace", header.trace},
                 {"seed", header.seed},
                 {"questions", header.all_questions ? "all" : "deciding"},
                 {"oracle", header.oracle},
                 {"samples_total", header.samples_total},
                 {"samples_per_epoch", header.samples_per_epoch},
                 {"plan", to_json(header.plan)},
                 {"capabilities", to_json(header.capabilities)},
                 {"profile", to_json(header.profile)},
                 {"policies", policies}};
    if (!header.policy.empty()) line["policy"] = header.policy;
    if (header.learned) line["learned"] = true;
    if (header.predictor.kind != policies::PredictorKind::exact) {
        line["predictor"] = predictor_json(header.predictor);
    }
    text_ = line_of(line);
}

void DecisionLog::question(const policies::QuestionRecord& record) {
    ++questions_;
    const bool changes = record.proposed != nullptr || !record.refused.empty();
    decisions_ += changes ? 1 : 0;
    if (!changes && !all_questions_) return;
    const json seen = to_json(record.seen);
    json line = {{"record", "question"},
                 {"number", questions_},
                 {"event", event_json(record.event)},
                 {"seen", seen},
                 {"seen_digest", digest_of(seen)},
                 {"answers", answers_json(record.answers)}};
    if (record.proposed != nullptr) line["proposed"] = to_json(*record.proposed);
    if (!record.refused.empty()) line["refused"] = record.refused;
    text_ += line_of(line);
}

void DecisionLog::committed(PlanVersion version) {
    text_ += line_of({{"record", "committed"}, {"version", index_of(version)}});
}

void DecisionLog::discarded(PlanVersion version, std::string_view why) {
    text_ += line_of({{"record", "discarded"}, {"version", index_of(version)}, {"why", why}});
}

namespace {

// Collects what a replayed Controller says to one question.
class Listener final : public policies::ControllerLog {
public:
    void question(const policies::QuestionRecord& record) override {
        answers = answers_json(record.answers);
        proposed = record.proposed == nullptr ? json() : to_json(*record.proposed);
        refused = record.refused;
        turned = false;
        for (const policies::PolicyAnswer& answer : record.answers) {
            turned = turned || !policies::knobs_turned(answer.decision).empty();
        }
    }
    void committed(PlanVersion) override {}
    void discarded(PlanVersion, std::string_view) override {}

    json answers;
    json proposed;
    std::string refused;
    bool turned = false;
};

class Replayer {
public:
    explicit Replayer(std::string_view file) : file_(file) {}

    void line(std::string_view text, std::size_t number) {
        line_ = number;
        try {
            const json object = parsed(text);
            Fields fields(object);
            std::string record;
            fields.text("record", record);
            if (record == "header") return header(fields);
            if (!controller_) fail("expected the header of a decision log");
            if (record == "question") return question(fields);
            if (record == "committed" || record == "discarded") return outcome(record, fields);
            fail(fmt::format("unknown record \"{}\"", record));
        } catch (const json::exception& error) {
            fail(error.what());
        } catch (const std::invalid_argument& error) {
            fail(error.what());
        }
    }

    LogReplay finish() {
        if (!controller_) fail("empty: expected the header of a decision log");
        return std::move(result_);
    }

private:
    [[noreturn]] void fail(std::string_view problem) const {
        throw InputError(file_, std::max<std::size_t>(line_, 1), 1, problem);
    }

    void header(Fields& fields) {
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
        fields.text("scenario", result_.scenario);
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
        setup.log = &listener_;
        workers_min_ = setup.capabilities.workers_min;
        controller_ = std::make_unique<policies::Controller>(std::move(setup));
    }

    void add_policy(policies::ControllerSetup& setup, const json& object) {
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
    void check(const policies::Observation& seen) {
        if (seen.now < last_question_at_) fail("time runs backwards");
        last_question_at_ = seen.now;
        if (learned_ && seen.samples_total < seen.samples_done) fail("more samples than there are");
        if (!learned_ && seen.samples_total != controller_->samples_total()) {
            fail(fmt::format("\"samples_total\": expected {} as in the header, found {}",
                             controller_->samples_total(), seen.samples_total));
        }
        if (seen.workers_min != workers_min_) {
            fail(fmt::format("\"workers_min\": expected {} as in the header, found {}",
                             workers_min_, seen.workers_min));
        }
        if (needs_deadline_ && !(seen.deadline > Instant{} && seen.deadline < Instant::never())) {
            fail("no deadline, which its policies need");
        }
    }

    void question(Fields& fields) {
        if (controller_->awaiting_commit()) fail("a question before the last Plan was settled");
        std::int64_t number = 0;
        fields.integer("number", number);
        const policies::ControlEvent event = control_event_from(fields.need("event"));
        const json& shown = fields.need("seen");
        policies::Observation seen = observation_from(shown);
        std::string digest;
        fields.text("seen_digest", digest);
        const json& answers = fields.need("answers");
        const json* proposed = fields.find("proposed");
        std::string refused;
        fields.text("refused", refused);
        fields.finish();
        check(seen);
        controller_->resume_at(seen.samples_done, seen.steps_done);
        if (learned_) controller_->work_is_left(seen.samples_total - seen.samples_done);
        const auto plan = controller_->propose(event, seen);
        ++result_.questions;
        result_.decisions += listener_.turned && (plan || !listener_.refused.empty());
        const json logged = proposed == nullptr ? json() : *proposed;
        if (listener_.answers != answers || listener_.proposed != logged ||
            listener_.refused != refused) {
            differ(number, answers, logged);
        } else if (digest != digest_of(shown)) {
            note_difference(number, "the Observation is not the one that was recorded");
        }
        // The log goes on as if nothing had been proposed, and so must the policies.
        if (plan && proposed == nullptr) controller_->discarded(plan->version, "not in the log");
    }

    void differ(std::int64_t number, const json& answers, const json& proposed) {
        const bool same_answers = listener_.answers == answers;
        note_difference(number, fmt::format("the log says {}, the policies say {}",
                                            same_answers ? proposed.dump() : answers.dump(),
                                            same_answers ? listener_.proposed.dump()
                                                         : listener_.answers.dump()));
    }

    void note_difference(std::int64_t number, std::string_view what) {
        ++result_.difference_count;
        if (result_.differences.size() >= differences_kept) return;
        result_.differences.push_back(
            fmt::format("{}:{}:1: question {}: {}", file_, line_, number, what));
    }

    void outcome(const std::string& record, Fields& fields) {
        std::uint32_t version = 0;
        std::string why;
        fields.integer("version", version);
        fields.text("why", why);
        fields.finish();
        if (!controller_->awaiting_commit()) {
            // The policies did not propose what the log commits: a difference already noted.
            if (result_.difference_count == 0) fail("a Plan that nobody proposed");
            return;
        }
        const PlanVersion next{index_of(controller_->plan().version) + 1};
        if (result_.difference_count == 0 && version != index_of(next)) {
            fail(fmt::format("expected version {}", index_of(next)));
        }
        if (record == "committed") {
            controller_->committed(next);
        } else {
            controller_->discarded(next, why);
        }
    }

    std::string file_;
    std::size_t line_ = 0;
    Listener listener_;
    std::unique_ptr<policies::Controller> controller_;
    LogReplay result_;
    std::int32_t workers_min_ = 1;
    bool learned_ = false;
    bool needs_deadline_ = false;
    Instant last_question_at_;
};

}  // namespace

LogReplay replay_decisions(std::string_view text, std::string_view file) {
    Replayer replayer(file);
    std::size_t number = 0;
    while (!text.empty()) {
        const std::size_t end = text.find('\n');
        if (end == std::string_view::npos) {
            throw InputError(file, number + 1, 1, "the last line is cut short");
        }
        replayer.line(text.substr(0, end), ++number);
        text.remove_prefix(end + 1);
    }
    return replayer.finish();
}

}  // namespace ukemi::records
