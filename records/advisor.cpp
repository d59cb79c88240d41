#include "records/advisor.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/plain_text.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

Advisor::Advisor(const DecisionLogHeader& header, std::string_view world)
    : log_(header), asked_(world, log_), header_(log_.take_text()) {
    asked_.line(header_, 0, [this](const std::string&, Fields& fields) { asked_.header(fields); });
}

std::string Advisor::answer(std::string_view line) {
    asked_.line(line, ++lines_, [this](const std::string& record, Fields& fields) {
        if (record == "question") return question(fields);
        if (record == "committed" || record == "discarded") {
            return asked_.settle(record == "committed", fields, true);
        }
        asked_.fail(
            fmt::format("expected the record \"question\", \"committed\" or "
                        "\"discarded\", found {}",
                        ukemi::quoted(record)));
    });
    return log_.take_text();
}

void Advisor::question(Fields& fields) {
    const policies::ControlEvent event = control_event_from(fields.need("event"));
    policies::Observation seen = observation_from(fields.need("seen"));
    for (const char* key : {"number", "seen_digest", "answers", "proposed", "refused"}) {
        fields.find(key);
    }
    fields.finish();
    asked_.ask(event, seen);
}

}  // namespace ukemi::records
