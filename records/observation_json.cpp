// observation_json.cpp — the table of an Observation's fields, and so its JSON; the other half of
// plan_json.hpp.
#include <nlohmann/json.hpp>

#include "records/json_record.hpp"
#include "records/plan_json.hpp"

namespace ukemi {

namespace {

using enum ReadRange;

// More than any run can have, and few enough that a mean time between them is above zero.
constexpr std::int64_t loss_events_max = 1'000'000'000;

}  // namespace

template <>
inline constexpr std::tuple json_table<ZoneView>{
    always("zone", &ZoneView::zone),
    always("spot_capacity", &ZoneView::spot_capacity, not_negative),
    always("spot_nano_usd_per_hour", &ZoneView::spot_price, not_negative),
    unless_default("on_demand_nano_usd_per_hour", &ZoneView::on_demand_price, not_negative),
    unless_default("speed_per_mille", &ZoneView::speed_per_mille, positive),
    unless_default("move_nano_usd", &ZoneView::move_cost),
    unless_default("move_ns", &ZoneView::move_time, not_negative),
    unless_default("spot_held", &ZoneView::spot_held, not_negative),
    unless_default("on_demand_held", &ZoneView::on_demand_held, not_negative),
    unless_default("pending", &ZoneView::pending, not_negative),
};
static_assert(line_count(json_table<ZoneView>) == member_count<ZoneView>());

template <>
inline constexpr std::tuple json_table<Notice>{
    always("instance", &Notice::instance),
    always("zone", &Notice::zone),
    always("lost_at_ns", &Notice::lost_at),
};
static_assert(line_count(json_table<Notice>) == member_count<Notice>());

template <>
inline constexpr std::tuple json_table<WorkerView>{
    always("instance", &WorkerView::instance),
    always("step_ns", &WorkerView::step, not_negative),
    always("compute_ns", &WorkerView::compute, not_negative),
    always("exposed_communication_ns", &WorkerView::exposed_communication, not_negative),
    always("input_wait_ns", &WorkerView::input_wait, not_negative),
};
static_assert(line_count(json_table<WorkerView>) == member_count<WorkerView>());

template <>
inline constexpr std::tuple json_table<GradientStatistics>{
    always("squared_norm", &GradientStatistics::squared_norm),
    always("covariance_trace", &GradientStatistics::covariance_trace),
    always("noise_scale", &GradientStatistics::noise_scale),
    unless_default("applied_squared_norm", &GradientStatistics::applied_squared_norm),
};
static_assert(line_count(json_table<GradientStatistics>) == member_count<GradientStatistics>());

template <>
inline constexpr std::tuple json_table<ExchangeView>{
    always("compute_ns", &ExchangeView::compute, not_negative),
    always("communication_ns", &ExchangeView::communication, not_negative),
    always("exposed_ns", &ExchangeView::exposed, not_negative),
    unless_default("encoding_ns", &ExchangeView::encoding, not_negative),
    unless_default("bytes", &ExchangeView::bytes, not_negative),
    unless_default("relative_error", &ExchangeView::relative_error),
};
static_assert(line_count(json_table<ExchangeView>) == member_count<ExchangeView>());

template <>
inline constexpr std::tuple json_table<Observation>{
    always("now_ns", &Observation::now),
    always("phase", &Observation::phase),
    always("samples_done", &Observation::samples_done, not_negative),
    always("samples_total", &Observation::samples_total, not_negative),
    always("workers_min", &Observation::workers_min, positive),
    unless_default("decision_interval_ns", &Observation::decision_interval, not_negative),
    unless_default("deadline_ns", &Observation::deadline),
    unless_default("steps_done", &Observation::steps_done, not_negative),
    unless_default("epoch", &Observation::epoch, not_negative),
    unless_default("transition_phase", &Observation::transition_phase),
    unless_default("transition_remaining_ns", &Observation::transition_remaining, not_negative),
    unless_default("samples_safe", &Observation::samples_safe, not_negative),
    unless_default("workers", &Observation::workers, not_negative),
    unless_default("loss", &Observation::loss),
    unless_default("gradient", &Observation::gradient),
    unless_default("exchange", &Observation::exchange),
    unless_default("worker_views", &Observation::worker_views),
    unless_default("spot_held", &Observation::spot_held, not_negative),
    unless_default("on_demand_held", &Observation::on_demand_held, not_negative),
    unless_default("spot_capacity", &Observation::spot_capacity, not_negative),
    unless_default("on_demand_nano_usd_per_hour", &Observation::on_demand_price, not_negative),
    unless_default("spent_nano_usd", &Observation::spent),
    unless_default("spot_losses", &Observation::spot_losses, not_negative),
    unless_default("spot_loss_events", &Observation::spot_loss_events, not_negative),
    unless_default("spot_time_ns", &Observation::spot_time, not_negative),
    unless_default("spot_since_ns", &Observation::spot_since),
    unless_default("zones", &Observation::zones),
    unless_default("notices", &Observation::notices),
};
static_assert(line_count(json_table<Observation>) == member_count<Observation>());

nlohmann::json to_json(const Observation& seen) { return record_json(seen); }

Observation observation_from(const nlohmann::json& object) {
    Observation seen = record_from<Observation>(object);
    if (seen.spot_loss_events > loss_events_max) {
        Fields::refuse("spot_loss_events", "a smaller number");
    }
    return seen;
}

}  // namespace ukemi
