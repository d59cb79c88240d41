// observation_table.hpp — the fields of an Observation by name: its keys in logs, and what other
// languages call its members.
#pragma once

#include <tuple>

#include "policies/observation.hpp"
#include "records/json_record.hpp"

namespace ukemi::records {

template <>
inline constexpr std::tuple json_table<policies::ZoneView>{
    always("zone", &policies::ZoneView::zone),
    always("spot_capacity", &policies::ZoneView::spot_capacity, ReadRange::not_negative),
    always("spot_nano_usd_per_hour", &policies::ZoneView::spot_price, ReadRange::not_negative),
    unless_default("on_demand_nano_usd_per_hour", &policies::ZoneView::on_demand_price,
                   ReadRange::not_negative),
    unless_default("speed_per_mille", &policies::ZoneView::speed_per_mille, ReadRange::positive),
    unless_default("move_nano_usd", &policies::ZoneView::move_cost),
    unless_default("move_ns", &policies::ZoneView::move_time, ReadRange::not_negative),
    unless_default("spot_held", &policies::ZoneView::spot_held, ReadRange::not_negative),
    unless_default("on_demand_held", &policies::ZoneView::on_demand_held, ReadRange::not_negative),
    unless_default("pending", &policies::ZoneView::pending, ReadRange::not_negative),
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
    always("step_ns", &policies::WorkerView::step, ReadRange::not_negative),
    always("compute_ns", &policies::WorkerView::compute, ReadRange::not_negative),
    always("exposed_communication_ns", &policies::WorkerView::exposed_communication,
           ReadRange::not_negative),
    always("input_wait_ns", &policies::WorkerView::input_wait, ReadRange::not_negative),
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
    always("compute_ns", &policies::ExchangeView::compute, ReadRange::not_negative),
    always("communication_ns", &policies::ExchangeView::communication, ReadRange::not_negative),
    always("exposed_ns", &policies::ExchangeView::exposed, ReadRange::not_negative),
    unless_default("encoding_ns", &policies::ExchangeView::encoding, ReadRange::not_negative),
    unless_default("bytes", &policies::ExchangeView::bytes, ReadRange::not_negative),
    unless_default("relative_error", &policies::ExchangeView::relative_error),
};
static_assert(line_count(json_table<policies::ExchangeView>) ==
              member_count<policies::ExchangeView>());

template <>
inline constexpr std::tuple json_table<policies::LinkView>{
    always("host", &policies::LinkView::host, ReadRange::not_negative),
    always("other", &policies::LinkView::other, ReadRange::not_negative),
    always("round_trip_ns", &policies::LinkView::round_trip, ReadRange::not_negative),
    always("bytes_per_second", &policies::LinkView::bytes_per_second),
};
static_assert(line_count(json_table<policies::LinkView>) == member_count<policies::LinkView>());

template <>
inline constexpr std::tuple json_table<policies::Observation>{
    always("now_ns", &policies::Observation::now),
    always("phase", &policies::Observation::phase),
    always("samples_done", &policies::Observation::samples_done, ReadRange::not_negative),
    always("samples_total", &policies::Observation::samples_total, ReadRange::not_negative),
    always("workers_min", &policies::Observation::workers_min, ReadRange::positive),
    unless_default("decision_interval_ns", &policies::Observation::decision_interval,
                   ReadRange::not_negative),
    unless_default("losses_between_ticks", &policies::Observation::losses_between_ticks),
    unless_default("deadline_ns", &policies::Observation::deadline),
    unless_default("earlier_ns", &policies::Observation::earlier, ReadRange::not_negative),
    unless_default("steps_done", &policies::Observation::steps_done, ReadRange::not_negative),
    unless_default("epoch", &policies::Observation::epoch, ReadRange::not_negative),
    unless_default("transition_phase", &policies::Observation::transition_phase),
    unless_default("transition_remaining_ns", &policies::Observation::transition_remaining,
                   ReadRange::not_negative),
    unless_default("samples_safe", &policies::Observation::samples_safe, ReadRange::not_negative),
    unless_default("workers", &policies::Observation::workers, ReadRange::not_negative),
    unless_default("loss", &policies::Observation::loss),
    unless_default("gradient", &policies::Observation::gradient),
    unless_default("exchange", &policies::Observation::exchange),
    unless_default("worker_views", &policies::Observation::worker_views),
    unless_default("links", &policies::Observation::links),
    unless_default("spot_held", &policies::Observation::spot_held, ReadRange::not_negative),
    unless_default("on_demand_held", &policies::Observation::on_demand_held,
                   ReadRange::not_negative),
    unless_default("spot_capacity", &policies::Observation::spot_capacity, ReadRange::not_negative),
    unless_default("on_demand_nano_usd_per_hour", &policies::Observation::on_demand_price,
                   ReadRange::not_negative),
    unless_default("spent_nano_usd", &policies::Observation::spent),
    unless_default("spot_losses", &policies::Observation::spot_losses, ReadRange::not_negative),
    unless_default("spot_loss_events", &policies::Observation::spot_loss_events,
                   ReadRange::not_negative),
    unless_default("spot_time_ns", &policies::Observation::spot_time, ReadRange::not_negative),
    unless_default("spot_since_ns", &policies::Observation::spot_since),
    unless_default("zones", &policies::Observation::zones),
    unless_default("notices", &policies::Observation::notices),
};
static_assert(line_count(json_table<policies::Observation>) ==
              member_count<policies::Observation>());

}  // namespace ukemi::records
