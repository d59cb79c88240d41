// observation_json.cpp — an Observation as JSON and back; the other half of plan_json.hpp.
#include <array>
#include <nlohmann/json.hpp>

#include "records/json_fields.hpp"
#include "records/plan_json.hpp"
#include "records/timeline.hpp"

namespace ukemi {

using nlohmann::json;

namespace {

constexpr std::array<std::string_view, 5> phase_names{"waiting", "transition", "running",
                                                      "checkpointing", "finished"};

// Leaves out what says nothing.
template <class Value>
void put(json& object, const char* key, const Value& value, const Value& nothing = {}) {
    if (value != nothing) object[key] = value;
}

// More than any run can have, and few enough that a mean time between them is above zero.
constexpr std::int64_t loss_events_max = 1'000'000'000;

json zone_json(const ZoneView& zone) {
    json object = {{"zone", index_of(zone.zone)},
                   {"spot_capacity", zone.spot_capacity},
                   {"spot_nano_usd_per_hour", zone.spot_price.raw()}};
    put(object, "on_demand_nano_usd_per_hour", zone.on_demand_price.raw(), std::int64_t{0});
    put(object, "speed_per_mille", zone.speed_per_mille, 1000);
    put(object, "move_nano_usd", zone.move_cost.raw(), std::int64_t{0});
    put(object, "move_ns", zone.move_time.raw(), std::int64_t{0});
    put(object, "spot_held", zone.spot_held);
    put(object, "on_demand_held", zone.on_demand_held);
    put(object, "pending", zone.pending);
    return object;
}

ZoneView zone_from(const json& object) {
    ZoneView zone;
    Fields fields(object);
    read_index(fields, "zone", zone.zone);
    fields.integer_from("spot_capacity", 0, zone.spot_capacity);
    fields.price("spot_nano_usd_per_hour", zone.spot_price);
    fields.price("on_demand_nano_usd_per_hour", zone.on_demand_price);
    fields.integer_from("speed_per_mille", 1, zone.speed_per_mille);
    fields.quantity("move_nano_usd", zone.move_cost);
    fields.time("move_ns", zone.move_time);
    fields.integer_from("spot_held", 0, zone.spot_held);
    fields.integer_from("on_demand_held", 0, zone.on_demand_held);
    fields.integer_from("pending", 0, zone.pending);
    fields.finish();
    return zone;
}

Instant moment(const json& number) {
    const bool fits =
        number.is_number_unsigned() &&
        number.get<std::uint64_t>() <= static_cast<std::uint64_t>(json_time_max.raw());
    if (!fits) Fields::refuse("spot_since_ns", "moments that are not negative");
    return Instant::at(nanoseconds(number.get<std::int64_t>()));
}

Notice notice_from(const json& object) {
    Notice notice;
    Fields fields(object);
    read_index(fields, "instance", notice.instance);
    read_index(fields, "zone", notice.zone);
    fields.time("lost_at_ns", notice.lost_at);
    fields.finish();
    return notice;
}

json worker_json(const WorkerView& worker) {
    return {{"instance", index_of(worker.instance)},
            {"step_ns", worker.step.raw()},
            {"compute_ns", worker.compute.raw()},
            {"exposed_communication_ns", worker.exposed_communication.raw()},
            {"input_wait_ns", worker.input_wait.raw()}};
}

WorkerView worker_from(const json& object) {
    WorkerView worker;
    Fields fields(object);
    read_index(fields, "instance", worker.instance);
    fields.time("step_ns", worker.step);
    fields.time("compute_ns", worker.compute);
    fields.time("exposed_communication_ns", worker.exposed_communication);
    fields.time("input_wait_ns", worker.input_wait);
    fields.finish();
    return worker;
}

json exchange_json(const ExchangeView& exchange) {
    json object = {{"compute_ns", exchange.compute.raw()},
                   {"communication_ns", exchange.communication.raw()},
                   {"exposed_ns", exchange.exposed.raw()}};
    put(object, "encoding_ns", exchange.encoding.raw(), std::int64_t{0});
    put(object, "bytes", exchange.bytes);
    if (exchange.relative_error != 0) {
        object["relative_error"] = real_json(exchange.relative_error);
    }
    return object;
}

ExchangeView exchange_from(const json& object) {
    ExchangeView exchange;
    Fields fields(object);
    fields.time("compute_ns", exchange.compute);
    fields.time("communication_ns", exchange.communication);
    fields.time("exposed_ns", exchange.exposed);
    fields.time("encoding_ns", exchange.encoding);
    fields.integer_from("bytes", std::int64_t{0}, exchange.bytes);
    fields.real("relative_error", exchange.relative_error);
    fields.finish();
    return exchange;
}

}  // namespace

json to_json(const Observation& seen) {
    json object = {{"now_ns", seen.now.raw()},
                   {"phase", job_phase_name(seen.phase)},
                   {"samples_done", seen.samples_done},
                   {"samples_total", seen.samples_total},
                   {"workers_min", seen.workers_min}};
    put(object, "decision_interval_ns", seen.decision_interval.raw(), std::int64_t{0});
    put(object, "deadline_ns", seen.deadline.raw(), Instant::never().raw());
    put(object, "steps_done", seen.steps_done);
    put(object, "epoch", seen.epoch);
    if (seen.transition_phase != TransitionPhase::none) {
        object["transition_phase"] =
            transition_phase_names[static_cast<std::size_t>(seen.transition_phase)];
    }
    put(object, "transition_remaining_ns", seen.transition_remaining.raw(), std::int64_t{0});
    put(object, "samples_safe", seen.samples_safe);
    put(object, "workers", seen.workers);
    if (seen.loss != 0) object["loss"] = real_json(seen.loss);
    if (seen.gradient != GradientStatistics{}) {
        object["gradient"] = {{"squared_norm", real_json(seen.gradient.squared_norm)},
                              {"covariance_trace", real_json(seen.gradient.covariance_trace)},
                              {"noise_scale", real_json(seen.gradient.noise_scale)}};
        if (seen.gradient.applied_squared_norm != 0) {
            object["gradient"]["applied_squared_norm"] =
                real_json(seen.gradient.applied_squared_norm);
        }
    }
    if (seen.exchange != ExchangeView{}) object["exchange"] = exchange_json(seen.exchange);
    for (const WorkerView& worker : seen.worker_views) {
        object["worker_views"].push_back(worker_json(worker));
    }
    put(object, "spot_held", seen.spot_held);
    put(object, "on_demand_held", seen.on_demand_held);
    put(object, "spot_capacity", seen.spot_capacity);
    put(object, "on_demand_nano_usd_per_hour", seen.on_demand_price.raw(), std::int64_t{0});
    put(object, "spent_nano_usd", seen.spent.raw(), std::int64_t{0});
    put(object, "spot_losses", seen.spot_losses);
    put(object, "spot_loss_events", seen.spot_loss_events);
    put(object, "spot_time_ns", seen.spot_time.raw(), std::int64_t{0});
    for (const Instant since : seen.spot_since) object["spot_since_ns"].push_back(since.raw());
    for (const ZoneView& zone : seen.zones) object["zones"].push_back(zone_json(zone));
    for (const Notice& notice : seen.notices) {
        object["notices"].push_back({{"instance", index_of(notice.instance)},
                                     {"zone", index_of(notice.zone)},
                                     {"lost_at_ns", notice.lost_at.raw()}});
    }
    return object;
}

Observation observation_from(const json& object) {
    Observation seen;
    Fields fields(object);
    constexpr std::int64_t none = 0;
    fields.time("now_ns", seen.now);
    fields.name("phase", phase_names, seen.phase);
    fields.integer_from("samples_done", none, seen.samples_done);
    fields.integer_from("samples_total", none, seen.samples_total);
    fields.integer_from("workers_min", 1, seen.workers_min);
    fields.time("decision_interval_ns", seen.decision_interval);
    fields.time("deadline_ns", seen.deadline);
    fields.integer_from("steps_done", none, seen.steps_done);
    fields.integer_from("epoch", none, seen.epoch);
    fields.name("transition_phase", transition_phase_names, seen.transition_phase);
    fields.time("transition_remaining_ns", seen.transition_remaining);
    fields.integer_from("samples_safe", none, seen.samples_safe);
    fields.integer_from("workers", 0, seen.workers);
    fields.real("loss", seen.loss);
    if (const json* gradient = fields.find("gradient")) {
        Fields parts(*gradient);
        parts.real("squared_norm", seen.gradient.squared_norm);
        parts.real("covariance_trace", seen.gradient.covariance_trace);
        parts.real("noise_scale", seen.gradient.noise_scale);
        parts.real("applied_squared_norm", seen.gradient.applied_squared_norm);
        parts.finish();
    }
    if (const json* exchange = fields.find("exchange")) seen.exchange = exchange_from(*exchange);
    fields.list("worker_views",
                [&](const json& one) { seen.worker_views.push_back(worker_from(one)); });
    fields.integer_from("spot_held", 0, seen.spot_held);
    fields.integer_from("on_demand_held", 0, seen.on_demand_held);
    fields.integer_from("spot_capacity", 0, seen.spot_capacity);
    fields.price("on_demand_nano_usd_per_hour", seen.on_demand_price);
    fields.quantity("spent_nano_usd", seen.spent);
    fields.integer_from("spot_losses", none, seen.spot_losses);
    fields.integer_from("spot_loss_events", none, seen.spot_loss_events);
    if (seen.spot_loss_events > loss_events_max) {
        Fields::refuse("spot_loss_events", "a smaller number");
    }
    fields.time("spot_time_ns", seen.spot_time);
    fields.list("spot_since_ns", [&](const json& one) { seen.spot_since.push_back(moment(one)); });
    fields.list("zones", [&](const json& one) { seen.zones.push_back(zone_from(one)); });
    fields.list("notices", [&](const json& one) { seen.notices.push_back(notice_from(one)); });
    fields.finish();
    return seen;
}

}  // namespace ukemi
