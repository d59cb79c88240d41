#include "records/plan_json.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "records/json_fields.hpp"

namespace ukemi {

using nlohmann::json;

namespace {

json line_json(const FleetLine& line) {
    return {{"zone", index_of(line.zone)},
            {"instance_type", line.instance_type},
            {"market", name_of(line.market)},
            {"count", line.count},
            {"bid_nano_usd_per_hour", line.bid.raw()}};
}

FleetLine line_from(const json& object) {
    FleetLine line;
    Fields fields(object);
    read_index(fields, "zone", line.zone);
    fields.integer("instance_type", line.instance_type);
    fields.name("market", market_names(), line.market);
    fields.integer("count", line.count);
    fields.quantity("bid_nano_usd_per_hour", line.bid);
    fields.finish();
    return line;
}

json fleet_json(const std::vector<FleetLine>& fleet) {
    json lines = json::array();
    for (const FleetLine& line : fleet) lines.push_back(line_json(line));
    return lines;
}

json layout_json(const Layout& layout) {
    return {{"data", layout.data}, {"pipeline", layout.pipeline}, {"tensor", layout.tensor}};
}

std::string_view named(std::span<const std::string_view> names, auto value) {
    return names[static_cast<std::size_t>(value)];
}

json ids_json(const std::vector<InstanceId>& ids) {
    json list = json::array();
    for (const InstanceId id : ids) list.push_back(index_of(id));
    return list;
}

}  // namespace

json to_json(const Plan& plan) {
    json object = {{"version", index_of(plan.version)},
                   {"fleet", fleet_json(plan.fleet)},
                   {"workers_max", plan.workers_max},
                   {"learners_per_gpu", plan.learners_per_gpu},
                   {"batch_per_learner", plan.batch_per_learner},
                   {"global_batch", plan.global_batch},
                   {"accumulation", plan.accumulation},
                   {"learning_rate", real_json(plan.learning_rate)},
                   {"synchronisation", named(synchronisation_names(), plan.synchronisation)},
                   {"collective", named(collective_names(), plan.collective)},
                   {"codec", named(codec_names(), plan.codec)},
                   {"codec_level", real_json(plan.codec_level)},
                   {"layout", layout_json(plan.layout)},
                   {"checkpoint_interval_ns", plan.checkpoint_interval.raw()},
                   {"checkpoint_on_notice", plan.checkpoint_on_notice}};
    if (!plan.replaced.empty()) object["replaced"] = ids_json(plan.replaced);
    return object;
}

Plan plan_from(const json& object) {
    Plan plan;
    Fields fields(object);
    read_index(fields, "version", plan.version);
    fields.list("fleet", [&](const json& line) { plan.fleet.push_back(line_from(line)); });
    fields.integer("workers_max", plan.workers_max);
    fields.integer("learners_per_gpu", plan.learners_per_gpu);
    fields.integer("batch_per_learner", plan.batch_per_learner);
    fields.integer("global_batch", plan.global_batch);
    fields.integer("accumulation", plan.accumulation);
    fields.real("learning_rate", plan.learning_rate);
    fields.name("synchronisation", synchronisation_names(), plan.synchronisation);
    fields.name("collective", collective_names(), plan.collective);
    fields.name("codec", codec_names(), plan.codec);
    fields.real("codec_level", plan.codec_level);
    if (const json* layout = fields.find("layout")) {
        Fields parts(*layout);
        parts.integer("data", plan.layout.data);
        parts.integer("pipeline", plan.layout.pipeline);
        parts.integer("tensor", plan.layout.tensor);
        parts.finish();
    }
    fields.quantity("checkpoint_interval_ns", plan.checkpoint_interval);
    fields.flag("checkpoint_on_notice", plan.checkpoint_on_notice);
    fields.list("replaced", [&](const json& id) {
        const bool fits = id.is_number_unsigned() && id.get<std::uint64_t>() <= 0xffffffffU;
        if (!fits) Fields::refuse("replaced", "numbers of instances");
        plan.replaced.push_back(InstanceId{id.get<std::uint32_t>()});
    });
    fields.finish();
    return plan;
}

json to_json(const Decision& decision) {
    json object = json::object();
    if (decision.fleet) object["fleet"] = fleet_json(*decision.fleet);
    if (decision.zone_counts) {
        json counts = json::array();
        for (const ZoneCount& each : *decision.zone_counts) {
            counts.push_back({{"zone", index_of(each.zone)}, {"count", each.count}});
        }
        object["zone_counts"] = counts;
    }
    const auto number = [&](const char* key, const auto& value) {
        if (value) object[key] = *value;
    };
    const auto real = [&](const char* key, const std::optional<double>& value) {
        if (value) object[key] = real_json(*value);
    };
    if (decision.market) object["market"] = name_of(*decision.market);
    number("count", decision.count);
    if (decision.bid) object["bid_nano_usd_per_hour"] = decision.bid->raw();
    if (decision.zone_bids) {
        json bids = json::array();
        for (const ZoneBid& each : *decision.zone_bids) {
            bids.push_back(
                {{"zone", index_of(each.zone)}, {"bid_nano_usd_per_hour", each.bid.raw()}});
        }
        object["zone_bids"] = bids;
    }
    number("workers_max", decision.workers_max);
    number("learners_per_gpu", decision.learners_per_gpu);
    number("batch_per_learner", decision.batch_per_learner);
    number("global_batch", decision.global_batch);
    number("accumulation", decision.accumulation);
    real("learning_rate", decision.learning_rate);
    const auto name = [&](const char* key, std::span<const std::string_view> names,
                          const auto& value) {
        if (value) object[key] = named(names, *value);
    };
    name("synchronisation", synchronisation_names(), decision.synchronisation);
    name("collective", collective_names(), decision.collective);
    name("codec", codec_names(), decision.codec);
    real("codec_level", decision.codec_level);
    if (decision.layout) object["layout"] = layout_json(*decision.layout);
    if (decision.checkpoint_interval) {
        object["checkpoint_interval_ns"] = decision.checkpoint_interval->raw();
    }
    number("checkpoint_on_notice", decision.checkpoint_on_notice);
    if (decision.replaced) object["replaced"] = ids_json(*decision.replaced);
    if (decision.ask_again_in) object["ask_again_in_ns"] = decision.ask_again_in->raw();
    if (!decision.reason.empty()) object["reason"] = decision.reason;
    return object;
}

json to_json(const Capabilities& capabilities) {
    json knobs = json::array();
    for (std::size_t index = 0; index < knob_count; ++index) {
        if (capabilities.knobs.has(static_cast<Knob>(index))) knobs.push_back(knob_names()[index]);
    }
    json object = {{"world", capabilities.world},
                   {"knobs", knobs},
                   {"zones", capabilities.zones},
                   {"instance_types", capabilities.instance_types},
                   {"instances_max", capabilities.instances_max},
                   {"workers_min", capabilities.workers_min}};
    for (const CodecRange& each : capabilities.codecs) {
        object["codecs"].push_back({{"codec", named(codec_names(), each.codec)},
                                    {"level_min", real_json(each.level_min)},
                                    {"level_max", real_json(each.level_max)},
                                    {"whole_levels", each.whole_levels},
                                    {"has_default", each.has_default}});
    }
    if (!capabilities.learners_code) object["learners_code"] = false;
    for (const Synchronisation each : capabilities.synchronisations) {
        object["synchronisations"].push_back(named(synchronisation_names(), each));
    }
    return object;
}

namespace {

CodecRange codec_range_from(const json& object) {
    CodecRange range;
    Fields fields(object);
    fields.name("codec", codec_names(), range.codec);
    fields.real("level_min", range.level_min);
    fields.real("level_max", range.level_max);
    fields.flag("whole_levels", range.whole_levels);
    fields.flag("has_default", range.has_default);
    fields.finish();
    return range;
}

}  // namespace

Capabilities capabilities_from(const json& object) {
    Capabilities can;
    Fields fields(object);
    fields.text("world", can.world);
    fields.list("knobs", [&](const json& name) {
        const auto found = std::ranges::find(knob_names(), name.get<std::string>());
        if (found == knob_names().end()) Fields::refuse("knobs", "known names");
        can.knobs = can.knobs | KnobSet{static_cast<Knob>(found - knob_names().begin())};
    });
    fields.integer_from("zones", 1U, can.zones);
    fields.integer_from("instance_types", 1U, can.instance_types);
    fields.integer_from("instances_max", 1, can.instances_max);
    fields.integer_from("workers_min", 1, can.workers_min);
    fields.list("codecs", [&](const json& one) { can.codecs.push_back(codec_range_from(one)); });
    fields.flag("learners_code", can.learners_code);
    fields.list("synchronisations", [&](const json& name) {
        const auto found = std::ranges::find(synchronisation_names(), name.get<std::string>());
        if (found == synchronisation_names().end()) {
            Fields::refuse("synchronisations", "known names");
        }
        can.synchronisations.push_back(
            static_cast<Synchronisation>(found - synchronisation_names().begin()));
    });
    fields.finish();
    return can;
}

namespace {

json batch_times_json(const std::vector<BatchTime>& times) {
    json points = json::array();
    for (const BatchTime& point : times) {
        points.push_back({{"batch", point.batch}, {"time_ns", point.time.raw()}});
    }
    return points;
}

constexpr std::uint64_t learner_speed_max = 100'000;

json sized_times_json(const TimeBySize& times) {
    json points = json::array();
    for (const SizedTime& point : times) {
        points.push_back({{"workers", point.workers}, {"time_ns", point.time.raw()}});
    }
    return points;
}

void read_sized_times(Fields& fields, const char* key, TimeBySize& times) {
    fields.list(key, [&](const json& element) {
        SizedTime point;
        Fields parts(element);
        parts.integer_from("workers", 1, point.workers);
        parts.time("time_ns", point.time, step_part_longest);
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
json communication_json(const ExposedCommunication& one) {
    json object = {{"collective", named(collective_names(), one.collective)}};
    if (one.times.size() == 1) {
        object["time_ns"] = one.times.front().time.raw();
    } else {
        object["times"] = sized_times_json(one.times);
    }
    return object;
}

ExposedCommunication communication_from(const json& object) {
    ExposedCommunication one;
    Fields fields(object);
    fields.name("collective", collective_names(), one.collective);
    read_sized_times(fields, "times", one.times);
    if (one.times.empty()) {
        SizedTime& at_any_size = one.times.emplace_back();
        fields.need("time_ns");
        fields.time("time_ns", at_any_size.time, step_part_longest);
    }
    fields.finish();
    return one;
}

CodecTime codec_time_from(const json& object) {
    CodecTime row;
    Fields fields(object);
    fields.name("codec", codec_names(), row.codec);
    fields.real("level", row.level);
    fields.flag("usual_level", row.usual_level);
    fields.time("encoding_ns", row.encoding, step_part_longest);
    fields.integer_from("bytes", std::int64_t{0}, row.bytes);
    fields.real("relative_error", row.relative_error);
    read_sized_times(fields, "synchronisation", row.synchronisation);
    fields.finish();
    return row;
}

json step_time_json(const StepTime& time) {
    json object = {{"compute", batch_times_json(time.compute)},
                   {"worker_batch_max", time.worker_batch_max},
                   {"synchronisation", sized_times_json(time.synchronisation)}};
    for (const GroupTime& group : time.groups) {
        object["groups"].push_back(
            {{"workers", group.workers}, {"steps", batch_times_json(group.steps)}});
    }
    if (time.bytes != 0) object["bytes"] = time.bytes;
    for (const CodecTime& row : time.codecs) {
        object["codecs"].push_back({{"codec", named(codec_names(), row.codec)},
                                    {"level", real_json(row.level)},
                                    {"usual_level", row.usual_level},
                                    {"encoding_ns", row.encoding.raw()},
                                    {"bytes", row.bytes},
                                    {"relative_error", real_json(row.relative_error)},
                                    {"synchronisation", sized_times_json(row.synchronisation)}});
    }
    for (const ExchangeTime& row : time.exchanges) {
        object["exchanges"].push_back(
            {{"synchronisation", named(synchronisation_names(), row.synchronisation)},
             {"times", sized_times_json(row.times)}});
    }
    if (!time.learner_speeds.empty()) object["learner_speeds_per_mille"] = time.learner_speeds;
    return object;
}

std::vector<BatchTime> batch_times_from(Fields& fields, const char* key) {
    std::vector<BatchTime> times;
    fields.list(key, [&](const json& element) {
        BatchTime point;
        Fields parts(element);
        parts.integer_from("batch", std::int64_t{1}, point.batch);
        parts.time("time_ns", point.time, step_part_longest);
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

StepTime step_time_from(const json& object) {
    StepTime time;
    Fields fields(object);
    time.compute = batch_times_from(fields, "compute");
    fields.integer_from("worker_batch_max", std::int64_t{0}, time.worker_batch_max);
    read_sized_times(fields, "synchronisation", time.synchronisation);
    fields.integer_from("bytes", std::int64_t{0}, time.bytes);
    fields.list("groups", [&](const json& element) {
        GroupTime group;
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
        ExchangeTime row;
        Fields parts(one);
        parts.name("synchronisation", synchronisation_names(), row.synchronisation);
        read_sized_times(parts, "times", row.times);
        parts.finish();
        time.exchanges.push_back(std::move(row));
    });
    read_learner_speeds(fields, time.learner_speeds);
    fields.finish();
    return time;
}

}  // namespace

json to_json(const JobProfile& profile) {
    json points = json::array();
    for (const ThroughputPoint& point : profile.throughput) {
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
    for (const ExposedCommunication& one : profile.communication) {
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

JobProfile profile_from(const json& object) {
    JobProfile profile;
    Fields fields(object);
    fields.list("throughput", [&](const json& element) {
        ThroughputPoint point;
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
        ExposedCommunication one = communication_from(element);
        const auto same = std::ranges::find(profile.communication, one.collective,
                                            &ExposedCommunication::collective);
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

ControlEvent control_event_from(const json& object) {
    ControlEvent event;
    Fields fields(object);
    fields.name("hook", hook_names(), event.hook);
    fields.name("kind", event_kind_names(), event.kind);
    fields.finish();
    return event;
}

}  // namespace ukemi
