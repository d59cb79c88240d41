// logged_controller.hpp — a Controller that is made from the header of a decision log and asked by
// lines such as a log has: for a log that is replayed, and for worlds in other languages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "policies/controller.hpp"
#include "records/json_fields.hpp"

namespace ukemi::records {

inline constexpr int log_version = 1;  // of decisions.jsonl

// Complaints are InputError (file:line:1), whatever is wrong with a line.
class LoggedController {
public:
    // `log` hears what the Controller says; it outlives this.
    LoggedController(std::string_view file, policies::ControllerLog& log);

    // Reads one line and hands on what it is ("record") and its other keys.
    using Take = std::function<void(const std::string& record, Fields& fields)>;
    void line(std::string_view text, std::size_t number, const Take& take);
    std::size_t line_number() const { return line_; }
    [[noreturn]] void fail(std::string_view problem) const;  // about the line that is read

    // The keys of a header; once, and before anything else.
    void header(Fields& fields);
    bool has_header() const { return controller_ != nullptr; }
    const std::string& scenario() const { return scenario_; }

    const policies::Controller& controller() const { return *controller_; }
    // Takes up what the Observation says of samples and steps, and asks. Refuses an Observation
    // that no world of this header can have made.
    std::optional<policies::Plan> ask(const policies::ControlEvent& event,
                                      policies::Observation& seen);
    // The keys of "committed" or "discarded". Where they are not of the Plan that was proposed,
    // they are refused with `as_proposed`; else the Plan that waits, if any, is settled so.
    void settle(bool is_committed, Fields& fields, bool as_proposed);
    void discard(PlanVersion version, std::string_view why) {
        controller_->discarded(version, why);
    }

private:
    void add_policy(policies::ControllerSetup& setup, const nlohmann::json& object);
    void check(const policies::Observation& seen);

    std::string file_;
    std::size_t line_ = 0;
    policies::ControllerLog& log_;
    std::unique_ptr<policies::Controller> controller_;
    std::string scenario_;
    std::int32_t workers_min_ = 1;
    bool learned_ = false;
    bool needs_deadline_ = false;
    Instant last_question_at_;
};

}  // namespace ukemi::records
