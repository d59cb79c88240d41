// observation_json.cpp — the table of an Observation's fields, and so its JSON; the other half of
// plan_json.hpp.
#include <nlohmann/json.hpp>

#include "records/json_record.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

namespace {

using enum ReadRange;

// More than any run can have, and few enough that a mean time between them is above zero.
constexpr std::int64_t loss_events_max = 1'000'000'000;

}  // namespace

template <>
inline constexpr std::tuple json_table<policies::ZoneView>{
    always("zone", &policies::ZoneView::zone),
    always("spot_capacity", &policies::ZoneView::spot_capacity, not_negative),
    always("spot_nano_usd_per_hour", &policies::ZoneView::spot_price, not_negative),
    unless_default("on_demand_nano_usd_per_hour", &policies::ZoneView::on_demand_price,
                   not_negative),
    unless_default("speed_per_mille", &policies::ZoneView::speed_per_mille, positive),
    unless_default("move_nano_usd", &policies::ZoneView::move_cost),
    unless_default("move_ns", &policies::ZoneView::move_time, not_negative),
    unless_default("spot_held", &policies::ZoneView::spot_held, not_negative),
    unless_default("on_demand_held", &policies::ZoneView::on_demand_held, not_negative),
    unless_default("pending", &policies::ZoneView::pending, not_negative),
};
static_assert(line_count(json_table<policies::ZoneView>) == member_count<policies::ZoneView>());

template <>
inline constexpr std::tuple json_table<policies::Notice>{
    always("instance", &policies::Notice::instance),
    always("zone", &policies::Notice::zone),
    always("lost_at_ns", &policies::Notice::lost_at),
};
static_assert(line_count(json_table<policies::Notice>) == member_count<policies::Notice>());

template <>
inline constexpr std::tuple json_table<policies::WorkerView>{
    always("instance", &policies::WorkerView::instance),
    always("step_ns", &policies::WorkerView::step, not_negative),
    always("compute_ns", &policies::WorkerView::compute, not_negative),
    always("exposed_communication_ns", &policies::WorkerView::exposed_communication, not_negative),
    always("input_wait_ns", &policies::WorkerView::input_wait, not_negative),
};
static_assert(line_count(json_table<policies::WorkerView>) == member_count<policies::WorkerView>());

template <>
inline constexpr std::tuple json_table<policies::GradientStatistics>{
    always("squared_norm", &policies::GradientStatistics::squared_norm),
    always("covariance_trace", &policies::GradientStatistics::covariance_trace),
    always("noise_scale", &policies::GradientStatistics::noise_scale),
    unless_default("applied_squared_norm", &policies::GradientStatistics::applied_squared_norm),
};
static_assert(line_count(json_table<policies::GradientStatistics>) ==
              member_count<policies::GradientStatistics>());

template <>
inline constexpr std::tuple json_table<policies::ExchangeView>{
    always("compute_ns", &policies::ExchangeView::compute, not_negative),
    always("communication_ns", &policies::ExchangeView::communication, not_negative),
    always("exposed_ns", &policies::ExchangeView::exposed, not_negative),
    unless_default("encoding_ns", &policies::ExchangeView::encoding, not_negative),
    unless_default("bytes", &policies::ExchangeView::bytes, not_negative),
    unless_default("relative_error", &policies::ExchangeView::relative_error),
};
static_assert(line_count(json_table<policies::ExchangeView>) ==
              member_count<policies::ExchangeView>());

template <>
inline constexpr std::tuple json_table<policies::Observation>{
    always("now_ns", &policies::Observation::now),
    always("phase", &policies::Observation::phase),
    always("samples_done", &policies::Observation::samples_done, not_negative),
    always("samples_total", &policies::Observation::samples_total, not_negative),
    always("workers_min", &policies::Observation::workers_min, positive),
    unless_default("decision_interval_ns", &policies::Observation::decision_interval, not_negative),
    unless_default("deadline_ns", &policies::Observation::deadline),
    unless_default("steps_done", &policies::Observation::steps_done, not_negative),
    unless_default("epoch", &policies::Observation::epoch, not_negative),
    unless_default("transition_phase", &policies::Observation::transition_phase),
    unless_default("transition_remaining_ns", &policies::Observation::transition_remaining,
                   not_negative),
    unless_default("samples_safe", &policies::Observation::samples_safe, not_negative),
    unless_default("workers", &policies::Observation::workers, not_negative),
    unless_default("loss", &policies::Observation::loss),
    unless_default("gradient", &policies::Observation::gradient),
    unless_default("exchange", &policies::Observation::exchange),
    unless_default("worker_views", &policies::Observation::worker_views),
    unless_default("spot_held", &policies::Observation::spot_held, not_negative),
    unless_default("on_demand_held", &policies::Observation::on_demand_held, not_negative),
    unless_default("spot_capacity", &policies::Observation::spot_capacity, not_negative),
    unless_default("on_demand_nano_usd_per_hour", &policies::Observation::on_demand_price,
                   not_negative),
    unless_default("spent_nano_usd", &policies::Observation::spent),
    unless_default("spot_losses", &policies::Observation::spot_losses, not_negative),
    unless_default("spot_loss_events", &policies::Observation::spot_loss_events, not_negative),
    unless_default("spot_time_ns", &policies::Observation::spot_time, not_negative),
    unless_default("spot_since_ns", &policies::Observation::spot_since),
    unless_default("zones", &policies::Observation::zones),
    unless_default("notices", &policies::Observation::notices),
};
static_assert(line_count(json_table<policies::Observation>) ==
              member_count<policies::Observation>());

nlohmann::json to_json(const policies::Observation& seen) { return record_json(seen); }

policies::Observation observation_from(const nlohmann::json& object) {
    policies::Observation seen = record_from<policies::Observation>(object);
    if (seen.spot_loss_events > loss_events_max) {
        Fields::refuse("spot_loss_events", "a smaller number");
    }
    return seen;
}

}  // namespace ukemi::records
