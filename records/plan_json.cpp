#include "records/plan_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "policies/plan_fields.hpp"
#include "records/json_record.hpp"

namespace ukemi::records {

using nlohmann::json;

template <>
inline constexpr std::tuple json_table<policies::FleetLine>{
    always("zone", &policies::FleetLine::zone),
    always("instance_type", &policies::FleetLine::instance_type),
    always("market", &policies::FleetLine::market),
    always("count", &policies::FleetLine::count),
    always("bid_nano_usd_per_hour", &policies::FleetLine::bid),
};
static_assert(line_count(json_table<policies::FleetLine>) == member_count<policies::FleetLine>());

template <>
inline constexpr std::tuple json_table<policies::Layout>{
    always("data", &policies::Layout::data),
    always("pipeline", &policies::Layout::pipeline),
    always("tensor", &policies::Layout::tensor),
};
static_assert(line_count(json_table<policies::Layout>) == member_count<policies::Layout>());

template <>
inline constexpr std::tuple json_table<policies::ZoneCount>{
    always("zone", &policies::ZoneCount::zone),
    always("count", &policies::ZoneCount::count),
};

template <>
inline constexpr std::tuple json_table<policies::MarketCount>{
    always("zone", &policies::MarketCount::zone),
    always("market", &policies::MarketCount::market),
    always("count", &policies::MarketCount::count),
};

template <>
inline constexpr std::tuple json_table<policies::ZoneBid>{
    always("zone", &policies::ZoneBid::zone),
    always("bid_nano_usd_per_hour", &policies::ZoneBid::bid),
};

template <>
inline constexpr std::tuple json_table<policies::CodecRange>{
    always("codec", &policies::CodecRange::codec),
    always("level_min", &policies::CodecRange::level_min),
    always("level_max", &policies::CodecRange::level_max),
    always("whole_levels", &policies::CodecRange::whole_levels),
    always("has_default", &policies::CodecRange::has_default),
};
static_assert(line_count(json_table<policies::CodecRange>) == member_count<policies::CodecRange>());

void read_element(const char* key, const json& element, InstanceId& id) {
    const bool fits = element.is_number_unsigned() && element.get<std::uint64_t>() <= 0xffffffffU;
    if (!fits) Fields::refuse(key, "numbers of instances");
    id = InstanceId{element.get<std::uint32_t>()};
}

void read_element(const char* key, const json& element, Instant& moment) {
    const bool fits =
        element.is_number_unsigned() &&
        element.get<std::uint64_t>() <= static_cast<std::uint64_t>(json_time_max.raw());
    if (!fits) Fields::refuse(key, "moments that are not negative");
    moment = Instant::at(nanoseconds(element.get<std::int64_t>()));
}

json to_json(const policies::Plan& plan) {
    json object = {{"version", index_of(plan.version)}, {"fleet", value_json(plan.fleet)}};
    for_each_line(policies::plan_fields, [&](const auto& field) {
        write_value(object, field.key, plan.*field.planned, usual<policies::Plan>().*field.planned,
                    field.written);
    });
    return object;
}

policies::Plan plan_from(const json& object) {
    policies::Plan plan;
    Fields fields(object);
    read_index(fields, "version", plan.version);
    read_value(fields, "fleet", plan.fleet, ReadRange::any);
    for_each_line(policies::plan_fields, [&](const auto& field) {
        read_value(fields, field.key, plan.*field.planned, ReadRange::any);
    });
    fields.finish();
    return plan;
}

json to_json(const policies::Decision& decision) {
    json object = json::object();
    for_each_line(policies::decision_fields, [&](const auto& field) {
        const auto& wish = decision.*field.decided;
        if (wish) object[field.key] = value_json(*wish);
    });
    if (decision.ask_again_in) object["ask_again_in_ns"] = decision.ask_again_in->raw();
    if (!decision.reason.empty()) object["reason"] = decision.reason;
    return object;
}

json to_json(const policies::Capabilities& capabilities) {
    json knobs = json::array();
    for (std::size_t index = 0; index < policies::knob_count; ++index) {
        if (capabilities.knobs.has(static_cast<policies::Knob>(index)))
            knobs.push_back(policies::knob_names()[index]);
    }
    json object = {{"world", capabilities.world},
                   {"knobs", knobs},
                   {"zones", capabilities.zones},
                   {"instance_types", capabilities.instance_types},
                   {"instances_max", capabilities.instances_max},
                   {"workers_min", capabilities.workers_min}};
    if (!capabilities.codecs.empty()) object["codecs"] = value_json(capabilities.codecs);
    if (!capabilities.learners_code) object["learners_code"] = false;
    if (!capabilities.synchronisations.empty()) {
        object["synchronisations"] = value_json(capabilities.synchronisations);
    }
    return object;
}

policies::Capabilities capabilities_from(const json& object) {
    policies::Capabilities can;
    Fields fields(object);
    fields.text("world", can.world);
    fields.list("knobs", [&](const json& name) {
        const auto found = std::ranges::find(policies::knob_names(), name.get<std::string>());
        if (found == policies::knob_names().end()) Fields::refuse("knobs", "known names");
        can.knobs =
            can.knobs |
            policies::KnobSet{static_cast<policies::Knob>(found - policies::knob_names().begin())};
    });
    fields.integer_from("zones", 1U, can.zones);
    fields.integer_from("instance_types", 1U, can.instance_types);
    fields.integer_from("instances_max", 1, can.instances_max);
    fields.integer_from("workers_min", 1, can.workers_min);
    read_value(fields, "codecs", can.codecs, ReadRange::any);
    fields.flag("learners_code", can.learners_code);
    fields.list("synchronisations", [&](const json& name) {
        const auto found =
            std::ranges::find(policies::synchronisation_names(), name.get<std::string>());
        if (found == policies::synchronisation_names().end()) {
            Fields::refuse("synchronisations", "known names");
        }
        can.synchronisations.push_back(static_cast<policies::Synchronisation>(
            found - policies::synchronisation_names().begin()));
    });
    fields.finish();
    return can;
}

namespace {

json batch_times_json(const std::vector<policies::BatchTime>& times) {
    json points = json::array();
    for (const policies::BatchTime& point : times) {
        points.push_back({{"batch", point.batch}, {"time_ns", point.time.raw()}});
    }
    return points;
}

constexpr std::uint64_t learner_speed_max = 100'000;

json sized_times_json(const policies::TimeBySize& times) {
    json points = json::array();
    for (const policies::SizedTime& point : times) {
        points.push_back({{"workers", point.workers}, {"time_ns", point.time.raw()}});
    }
    return points;
}

void read_sized_times(Fields& fields, const char* key, policies::TimeBySize& times) {
    fields.list(key, [&](const json& element) {
        policies::SizedTime point;
        Fields parts(element);
        parts.integer_from("workers", 1, point.workers);
        parts.time("time_ns", point.time, policies::step_part_longest);
        parts.finish();
        if (!times.empty() && point.workers <= times.back().workers) {
            Fields::refuse(key, "increasing numbers of workers");
        }
        times.push_back(point);
    });
}

void read_learner_speeds(Fields& fields, std::vector<std::int32_t>& speeds) {
    fields.list("learner_speeds_per_mille", [&](const json& speed) {
        const bool fits = speed.is_number_unsigned() && speed.get<std::uint64_t>() >= 1 &&
                          speed.get<std::uint64_t>() <= learner_speed_max;
        if (!fits) Fields::refuse("learner_speeds_per_mille", "numbers from 1 to 100000");
        speeds.push_back(speed.get<std::int32_t>());
    });
}

// One point is the time at any size; logs have said that with a bare number from the beginning.
json communication_json(const policies::ExposedCommunication& one) {
    json object = {{"collective", value_json(one.collective)}};
    if (one.times.size() == 1) {
        object["time_ns"] = one.times.front().time.raw();
    } else {
        object["times"] = sized_times_json(one.times);
    }
    return object;
}

policies::ExposedCommunication communication_from(const json& object) {
    policies::ExposedCommunication one;
    Fields fields(object);
    fields.name("collective", policies::collective_names(), one.collective);
    read_sized_times(fields, "times", one.times);
    if (one.times.empty()) {
        policies::SizedTime& at_any_size = one.times.emplace_back();
        fields.need("time_ns");
        fields.time("time_ns", at_any_size.time, policies::step_part_longest);
    }
    fields.finish();
    return one;
}

policies::CodecTime codec_time_from(const json& object) {
    policies::CodecTime row;
    Fields fields(object);
    fields.name("codec", policies::codec_names(), row.codec);
    fields.real("level", row.level);
    fields.flag("usual_level", row.usual_level);
    fields.time("encoding_ns", row.encoding, policies::step_part_longest);
    fields.integer_from("bytes", std::int64_t{0}, row.bytes);
    fields.real("relative_error", row.relative_error);
    read_sized_times(fields, "synchronisation", row.synchronisation);
    fields.finish();
    return row;
}

json step_time_json(const policies::StepTime& time) {
    json object = {{"compute", batch_times_json(time.compute)},
                   {"worker_batch_max", time.worker_batch_max},
                   {"synchronisation", sized_times_json(time.synchronisation)}};
    for (const policies::GroupTime& group : time.groups) {
        object["groups"].push_back(
            {{"workers", group.workers}, {"steps", batch_times_json(group.steps)}});
    }
    if (time.bytes != 0) object["bytes"] = time.bytes;
    for (const policies::CodecTime& row : time.codecs) {
        object["codecs"].push_back({{"codec", value_json(row.codec)},
                                    {"level", real_json(row.level)},
                                    {"usual_level", row.usual_level},
                                    {"encoding_ns", row.encoding.raw()},
                                    {"bytes", row.bytes},
                                    {"relative_error", real_json(row.relative_error)},
                                    {"synchronisation", sized_times_json(row.synchronisation)}});
    }
    for (const policies::ExchangeTime& row : time.exchanges) {
        object["exchanges"].push_back({{"synchronisation", value_json(row.synchronisation)},
                                       {"times", sized_times_json(row.times)}});
    }
    if (!time.learner_speeds.empty()) object["learner_speeds_per_mille"] = time.learner_speeds;
    return object;
}

std::vector<policies::BatchTime> batch_times_from(Fields& fields, const char* key) {
    std::vector<policies::BatchTime> times;
    fields.list(key, [&](const json& element) {
        policies::BatchTime point;
        Fields parts(element);
        parts.integer_from("batch", std::int64_t{1}, point.batch);
        parts.time("time_ns", point.time, policies::step_part_longest);
        parts.finish();
        if (point.batch > 1'000'000'000) Fields::refuse("batch", "at most 10^9");
        const bool rises =
            times.empty() || (point.batch > times.back().batch && point.time >= times.back().time);
        if (!rises) Fields::refuse(key, "increasing batches, and times that do not fall");
        times.push_back(point);
    });
    if (times.empty()) Fields::refuse(key, "at least one point");
    return times;
}

policies::StepTime step_time_from(const json& object) {
    policies::StepTime time;
    Fields fields(object);
    time.compute = batch_times_from(fields, "compute");
    fields.integer_from("worker_batch_max", std::int64_t{0}, time.worker_batch_max);
    read_sized_times(fields, "synchronisation", time.synchronisation);
    fields.integer_from("bytes", std::int64_t{0}, time.bytes);
    fields.list("groups", [&](const json& element) {
        policies::GroupTime group;
        Fields parts(element);
        parts.integer_from("workers", 1, group.workers);
        group.steps = batch_times_from(parts, "steps");
        parts.finish();
        if (!time.groups.empty() && group.workers <= time.groups.back().workers) {
            Fields::refuse("groups", "increasing numbers of workers");
        }
        time.groups.push_back(std::move(group));
    });
    fields.list("codecs", [&](const json& one) { time.codecs.push_back(codec_time_from(one)); });
    fields.list("exchanges", [&](const json& one) {
        policies::ExchangeTime row;
        Fields parts(one);
        parts.name("synchronisation", policies::synchronisation_names(), row.synchronisation);
        read_sized_times(parts, "times", row.times);
        parts.finish();
        time.exchanges.push_back(std::move(row));
    });
    read_learner_speeds(fields, time.learner_speeds);
    fields.finish();
    return time;
}

}  // namespace

json to_json(const policies::JobProfile& profile) {
    json points = json::array();
    for (const policies::ThroughputPoint& point : profile.throughput) {
        points.push_back({{"workers", point.workers},
                          {"steps", point.rate.steps},
                          {"per_ns", point.rate.per.raw()}});
    }
    json object = {{"throughput", points},
                   {"provisioning_ns", profile.provisioning.raw()},
                   {"restart_ns", profile.restart.raw()},
                   {"resize_ns", profile.resize.raw()},
                   {"lossless", profile.lossless},
                   {"checkpoint_ns", profile.checkpoint.raw()},
                   {"restore_ns", profile.restore.raw()},
                   {"sharded", profile.sharded}};
    if (profile.step_time) object["step_time"] = step_time_json(*profile.step_time);
    for (const policies::ExposedCommunication& one : profile.communication) {
        object["communication"].push_back(communication_json(one));
    }
    if (!profile.learner_speeds.empty())
        object["learner_speeds_per_mille"] = profile.learner_speeds;
    if (profile.spawn > Duration{}) object["spawn_ns"] = profile.spawn.raw();
    return object;
}

// What a profile may hold, so that sums of its times stay far below what a Duration holds.
namespace {
constexpr Duration transition_max = days(366);
constexpr double step_s_min = 1e-15;
constexpr double step_s_max = 366.0 * 86'400;
}  // namespace

policies::JobProfile profile_from(const json& object) {
    policies::JobProfile profile;
    Fields fields(object);
    fields.list("throughput", [&](const json& element) {
        policies::ThroughputPoint point;
        Fields parts(element);
        parts.integer("workers", point.workers);
        parts.integer("steps", point.rate.steps);
        parts.quantity("per_ns", point.rate.per);
        parts.finish();
        if (point.workers < 1 || point.rate.steps < 1 || point.rate.per <= Duration{}) {
            Fields::refuse("throughput", "positive numbers");
        }
        if (!profile.throughput.empty() && point.workers <= profile.throughput.back().workers) {
            Fields::refuse("throughput", "increasing numbers of workers");
        }
        const double step_s = to_seconds(point.rate.per) / static_cast<double>(point.rate.steps);
        if (!(step_s >= step_s_min && step_s <= step_s_max)) {
            Fields::refuse("throughput", "steps that take a femtosecond to a year");
        }
        profile.throughput.push_back(point);
    });
    if (profile.throughput.empty()) Fields::refuse("throughput", "at least one point");
    fields.list("communication", [&](const json& element) {
        policies::ExposedCommunication one = communication_from(element);
        const auto same = std::ranges::find(profile.communication, one.collective,
                                            &policies::ExposedCommunication::collective);
        if (same != profile.communication.end()) {
            Fields::refuse("communication", "each collective once");
        }
        profile.communication.push_back(std::move(one));
    });
    read_learner_speeds(fields, profile.learner_speeds);
    fields.time("provisioning_ns", profile.provisioning, transition_max);
    fields.time("restart_ns", profile.restart, transition_max);
    fields.time("resize_ns", profile.resize, transition_max);
    fields.time("spawn_ns", profile.spawn, transition_max);
    if (const json* step_time = fields.find("step_time")) {
        profile.step_time = step_time_from(*step_time);
    }
    fields.flag("lossless", profile.lossless);
    fields.time("checkpoint_ns", profile.checkpoint, transition_max);
    fields.time("restore_ns", profile.restore, transition_max);
    fields.flag("sharded", profile.sharded);
    fields.finish();
    return profile;
}

policies::ControlEvent control_event_from(const json& object) {
    policies::ControlEvent event;
    Fields fields(object);
    fields.name("hook", policies::hook_names(), event.hook);
    fields.name("kind", policies::event_kind_names(), event.kind);
    fields.finish();
    return event;
}

}  // namespace ukemi::records
