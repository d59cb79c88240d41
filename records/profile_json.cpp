// profile_json.cpp — how long a job's steps and changes take, in decision logs.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "records/json_record.hpp"
#include "records/observation_table.hpp"
#include "records/plan_json.hpp"

namespace ukemi::records {

using nlohmann::json;

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

policies::HostLinks links_from(const json& object) {
    policies::HostLinks links;
    Fields fields(object);
    fields.need("message_bytes");
    fields.quantity("message_bytes", links.message);
    fields.integer_from("workers_per_host", 1, links.workers_per_host);
    fields.list("between", [&](const json& element) {
        links.links.push_back(record_from<policies::LinkView>(element));
    });
    fields.finish();
    const bool whole = links.message.raw() >= 0 && is_of_all_pairs(links.links) &&
                       std::ranges::all_of(links.links, [](const policies::LinkView& link) {
                           return link.bytes_per_second > 0;
                       });
    if (!whole) Fields::refuse("between", "what is between each two hosts, in order");
    return links;
}

json group_times_json(const std::vector<policies::GroupTime>& groups) {
    json all = json::array();
    for (const policies::GroupTime& group : groups) {
        all.push_back({{"workers", group.workers}, {"steps", batch_times_json(group.steps)}});
        if (!group.compute.empty()) {
            all.back()["compute"] = batch_times_json(group.compute);
            all.back()["update_ns"] = group.update.raw();
        }
        if (group.further.empty()) continue;
        all.back()["twice"] = batch_times_json(group.twice);
        all.back()["further"] = batch_times_json(group.further);
    }
    return all;
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

void read_group_times(Fields& fields, std::vector<policies::GroupTime>& groups) {
    fields.list("groups", [&](const json& element) {
        policies::GroupTime group;
        Fields parts(element);
        parts.integer_from("workers", 1, group.workers);
        group.steps = batch_times_from(parts, "steps");
        if (parts.find("further") != nullptr) {
            group.twice = batch_times_from(parts, "twice");
            group.further = batch_times_from(parts, "further");
        }
        if (parts.find("compute") != nullptr) {
            group.compute = batch_times_from(parts, "compute");
            parts.time("update_ns", group.update, policies::step_part_longest);
        }
        parts.finish();
        if (!groups.empty() && group.compute.empty() != groups.front().compute.empty()) {
            Fields::refuse("compute", "it in all groups or in none");
        }
        if (!groups.empty() && group.further.empty() != groups.front().further.empty()) {
            Fields::refuse("further", "it in all groups or in none");
        }
        if (!groups.empty() && group.workers <= groups.back().workers) {
            Fields::refuse("groups", "increasing numbers of workers");
        }
        groups.push_back(std::move(group));
    });
}

json codec_time_json(const policies::CodecTime& row) {
    json object = {{"codec", value_json(row.codec)},
                   {"level", real_json(row.level)},
                   {"usual_level", row.usual_level},
                   {"bytes", row.bytes},
                   {"relative_error", real_json(row.relative_error)},
                   {"synchronisation", sized_times_json(row.synchronisation)}};
    if (row.encoding.size() > 1) {
        object["encoding"] = sized_times_json(row.encoding);
    } else {  // at any size, as logs have said it from the beginning
        object["encoding_ns"] = policies::time_for_size(row.encoding, 1).raw();
    }
    if (!row.groups.empty()) object["groups"] = group_times_json(row.groups);
    return object;
}

policies::CodecTime codec_time_from(const json& object) {
    policies::CodecTime row;
    Fields fields(object);
    fields.name("codec", policies::codec_names(), row.codec);
    fields.real("level", row.level);
    fields.flag("usual_level", row.usual_level);
    read_sized_times(fields, "encoding", row.encoding);
    if (row.encoding.empty()) {
        policies::SizedTime& at_any_size = row.encoding.emplace_back();
        fields.time("encoding_ns", at_any_size.time, policies::step_part_longest);
    }
    fields.integer_from("bytes", std::int64_t{0}, row.bytes);
    fields.real("relative_error", row.relative_error);
    read_sized_times(fields, "synchronisation", row.synchronisation);
    read_group_times(fields, row.groups);
    fields.finish();
    return row;
}

json step_time_json(const policies::StepTime& time) {
    json object = {{"compute", batch_times_json(time.compute)},
                   {"worker_batch_max", time.worker_batch_max},
                   {"synchronisation", sized_times_json(time.synchronisation)}};
    if (time.update > Duration{}) object["update_ns"] = time.update.raw();
    if (time.input_of_a_million > Duration{}) {
        object["input_of_a_million_ns"] = time.input_of_a_million.raw();
    }
    if (!time.groups.empty()) object["groups"] = group_times_json(time.groups);
    if (time.bytes != 0) object["bytes"] = time.bytes;
    for (const policies::CodecTime& row : time.codecs) {
        object["codecs"].push_back(codec_time_json(row));
    }
    for (const policies::ExchangeTime& row : time.exchanges) {
        object["exchanges"].push_back({{"synchronisation", value_json(row.synchronisation)},
                                       {"times", sized_times_json(row.times)}});
    }
    if (!time.learner_speeds.empty()) object["learner_speeds_per_mille"] = time.learner_speeds;
    for (const policies::LearnerSteps& row : time.learner_steps) {
        object["learner_steps"].push_back({{"learners", row.learners},
                                           {"worker_batch_max", row.worker_batch_max},
                                           {"compute", batch_times_json(row.compute)},
                                           {"groups", group_times_json(row.groups)}});
        if (row.update > Duration{}) object["learner_steps"].back()["update_ns"] = row.update.raw();
    }
    return object;
}

policies::LearnerSteps learner_steps_from(const json& object, std::int32_t learners) {
    policies::LearnerSteps row;
    Fields fields(object);
    fields.integer_from("learners", 2, row.learners);
    fields.integer_from("worker_batch_max", std::int64_t{1}, row.worker_batch_max);
    row.compute = batch_times_from(fields, "compute");
    fields.time("update_ns", row.update, policies::step_part_longest);
    read_group_times(fields, row.groups);
    fields.finish();
    if (row.learners != learners) Fields::refuse("learners", "two, three, and so on");
    if (row.groups.empty()) Fields::refuse("groups", "at least one");
    return row;
}

policies::StepTime step_time_from(const json& object) {
    policies::StepTime time;
    Fields fields(object);
    time.compute = batch_times_from(fields, "compute");
    fields.time("update_ns", time.update, policies::step_part_longest);
    fields.time("input_of_a_million_ns", time.input_of_a_million);
    fields.integer_from("worker_batch_max", std::int64_t{0}, time.worker_batch_max);
    read_sized_times(fields, "synchronisation", time.synchronisation);
    fields.integer_from("bytes", std::int64_t{0}, time.bytes);
    read_group_times(fields, time.groups);
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
    fields.list("learner_steps", [&](const json& row) {
        const auto learners = static_cast<std::int32_t>(time.learner_steps.size()) + 2;
        time.learner_steps.push_back(learner_steps_from(row, learners));
    });
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
    if (profile.batch_grows) object["batch_grows"] = true;
    if (profile.step_time) object["step_time"] = step_time_json(*profile.step_time);
    for (const policies::ExposedCommunication& one : profile.communication) {
        object["communication"].push_back(communication_json(one));
    }
    if (profile.links.known()) {
        object["links"] = {{"message_bytes", profile.links.message.raw()},
                           {"workers_per_host", profile.links.workers_per_host},
                           {"between", value_json(profile.links.links)}};
    }
    if (!profile.learner_speeds.empty())
        object["learner_speeds_per_mille"] = profile.learner_speeds;
    if (profile.spawn > Duration{}) object["spawn_ns"] = profile.spawn.raw();
    for (const policies::PipelineSteps& each : profile.pipelines) {
        json steps = json::array();
        for (const Duration step : each.steps) steps.push_back(step.raw());
        object["pipelines"].push_back({{"stages", each.stages}, {"steps_ns", steps}});
    }
    return object;
}

// What a profile may hold, so that sums of its times stay far below what a Duration holds.
namespace {
constexpr Duration transition_max = days(366);
constexpr double step_s_min = 1e-15;
constexpr double step_s_max = 366.0 * 86'400;
}  // namespace

namespace {

policies::PipelineSteps pipeline_steps_from(const json& object) {
    policies::PipelineSteps each;
    Fields fields(object);
    fields.integer_from("stages", 2, each.stages);
    fields.list("steps_ns", [&](const json& one) {
        if (!one.is_number_integer()) Fields::refuse("steps_ns", "whole numbers");
        each.steps.push_back(nanoseconds(one.get<std::int64_t>()));
        if (each.steps.back() < nanoseconds(1) || each.steps.back() > transition_max) {
            Fields::refuse("steps_ns", "steps that take a nanosecond to a year");
        }
    });
    fields.finish();
    if (each.steps.empty()) Fields::refuse("steps_ns", "at least one");
    return each;
}

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
    fields.flag("batch_grows", profile.batch_grows);  // not in older logs
    fields.list("communication", [&](const json& element) {
        policies::ExposedCommunication one = communication_from(element);
        const auto same = std::ranges::find(profile.communication, one.collective,
                                            &policies::ExposedCommunication::collective);
        if (same != profile.communication.end()) {
            Fields::refuse("communication", "each collective once");
        }
        profile.communication.push_back(std::move(one));
    });
    if (const json* links = fields.find("links")) profile.links = links_from(*links);
    read_learner_speeds(fields, profile.learner_speeds);
    fields.list("pipelines", [&](const json& element) {
        profile.pipelines.push_back(pipeline_steps_from(element));
    });
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

}  // namespace ukemi::records
