#include "records/decision_log.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/input_error.hpp"
#include "base/text_digest.hpp"
#include "records/logged_controller.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

using nlohmann::json;

namespace {

constexpr std::size_t differences_kept = 10;

// Names of files need not be UTF-8, and JSON must be.
std::string line_of(const json& object) {
    return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
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

std::string DecisionLog::take_text() { return std::exchange(text_, {}); }

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
    explicit Replayer(std::string_view file) : file_(file), asked_(file, listener_) {}

    void line(std::string_view text, std::size_t number) {
        asked_.line(text, number, [this](const std::string& record, Fields& fields) {
            if (record == "header") return asked_.header(fields);
            if (!asked_.has_header()) asked_.fail("expected the header of a decision log");
            if (record == "question") return question(fields);
            if (record == "committed" || record == "discarded") {
                // Policies that answered otherwise did not propose what the log commits.
                const bool same = result_.difference_count == 0;
                return asked_.settle(record == "committed", fields, same);
            }
            asked_.fail(fmt::format("unknown record \"{}\"", record));
        });
    }

    LogReplay finish() {
        if (!asked_.has_header()) asked_.fail("empty: expected the header of a decision log");
        result_.scenario = asked_.scenario();
        return std::move(result_);
    }

private:
    void question(Fields& fields) {
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
        const auto plan = asked_.ask(event, seen);
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
        if (plan && proposed == nullptr) asked_.discard(plan->version, "not in the log");
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
            fmt::format("{}:{}:1: question {}: {}", file_, asked_.line_number(), number, what));
    }

    std::string file_;
    Listener listener_;
    LoggedController asked_;
    LogReplay result_;
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
