// observation_json.cpp — an Observation's JSON; the other half of plan_json.hpp.
#include <nlohmann/json.hpp>

#include "records/observation_table.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

namespace {

// More than any run can have, and few enough that a mean time between them is above zero.
constexpr std::int64_t loss_events_max = 1'000'000'000;

}  // namespace

nlohmann::json to_json(const policies::Observation& seen) { return record_json(seen); }

policies::Observation observation_from(const nlohmann::json& object) {
    policies::Observation seen = record_from<policies::Observation>(object);
    if (seen.spot_loss_events > loss_events_max) {
        Fields::refuse("spot_loss_events", "a smaller number");
    }
    return seen;
}

}  // namespace ukemi::records
