// decision_log.hpp — decisions.jsonl: what the policies of a run were shown and what they said.
//
// One JSON object a line. The first says everything that the policies were built from (names,
// parameters, seed, first Plan, capabilities, Predictor and its profile), so that the log stands
// alone; then a line a question (with a digest of its Observation), and a line for each Plan that
// was committed or discarded. A log with every question in it can be fed to the same policies again
// (replay_decisions) and must give the same answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/capabilities.hpp"
#include "policies/controller.hpp"
#include "policies/predictor_choice.hpp"
#include "policies/training_loop.hpp"

namespace ukemi::records {

struct LoggedPolicy {
    std::string name;
    std::string parameters;  // a JSON object as text
};

struct DecisionLogHeader {
    std::string world;     // "simulated market"
    std::string scenario;  // for people
    std::string trace;
    std::string policy;  // as results call the list; empty where it has no name
    std::uint64_t seed = 0;
    bool all_questions = false;  // else only those that led to a change
    bool oracle = false;
    bool learned = false;  // the work is not a number of samples: what is left of it changes
    std::int64_t samples_total = 0;
    std::int64_t samples_per_epoch = 0;
    policies::Plan plan;
    policies::Capabilities capabilities;
    policies::PredictorChoice predictor;
    policies::JobProfile profile;  // that it starts from
    std::vector<LoggedPolicy> policies;
};

// Of a run that is driven by a TrainingLoop with this setup; every question is logged.
DecisionLogHeader log_header_of(const policies::TrainingLoopSetup& setup,
                                std::string_view scenario);

class DecisionLog final : public policies::ControllerLog {
public:
    explicit DecisionLog(const DecisionLogHeader& header);

    void question(const policies::QuestionRecord& record) override;
    void committed(PlanVersion version) override;
    void discarded(PlanVersion version, std::string_view why) override;

    const std::string& text() const { return text_; }  // the file
    std::string take_text();  // what has come since the last call, which is then forgotten

private:
    std::string text_;
    bool all_questions_;
    std::int64_t questions_ = 0;
};

struct LogReplay {
    std::string scenario;
    std::int64_t questions = 0;
    std::int64_t decisions = 0;  // answers that turned a knob
    // The first lines where the policies answered otherwise than the log says, at most ten.
    std::vector<std::string> differences;
    std::int64_t difference_count = 0;
};

// Feeds a log to freshly made policies. Throws InputError (file:line:1) for a log that is damaged,
// that does not hold every question, or whose policies had an oracle.
LogReplay replay_decisions(std::string_view text, std::string_view file);

}  // namespace ukemi::records
