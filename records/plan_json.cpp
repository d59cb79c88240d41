#include "records/plan_json.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "records/plan_table.hpp"

namespace ukemi::records {

using nlohmann::json;

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

void read_element(const char* key, const json& element, std::int32_t& number) {
    const bool fits =
        element.is_number_unsigned() &&
        element.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int32_t>::max()};
    if (!fits) Fields::refuse(key, "whole numbers that are not negative");
    number = element.get<std::int32_t>();
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

policies::Decision decision_from(const json& object) {
    policies::Decision decision;
    Fields fields(object);
    for_each_line(policies::decision_fields, [&](const auto& field) {
        if (fields.find(field.key) == nullptr) return;
        read_value(fields, field.key, (decision.*field.decided).emplace(), ReadRange::any);
    });
    if (fields.find("ask_again_in_ns") != nullptr) {
        fields.time("ask_again_in_ns", decision.ask_again_in.emplace());
        if (decision.ask_again_in == Duration{}) {
            Fields::refuse("ask_again_in_ns", "a number above zero");
        }
    }
    fields.find("reason");
    fields.finish();
    return decision;
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
    if (capabilities.learners_max < policies::Capabilities{}.learners_max) {
        object["learners_max"] = capabilities.learners_max;
    }
    if (!capabilities.synchronisations.empty()) {
        object["synchronisations"] = value_json(capabilities.synchronisations);
    }
    if (!capabilities.stages.empty()) object["stages"] = capabilities.stages;
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
    fields.integer_from("learners_max", 1, can.learners_max);
    fields.list("synchronisations", [&](const json& name) {
        const auto found =
            std::ranges::find(policies::synchronisation_names(), name.get<std::string>());
        if (found == policies::synchronisation_names().end()) {
            Fields::refuse("synchronisations", "known names");
        }
        can.synchronisations.push_back(static_cast<policies::Synchronisation>(
            found - policies::synchronisation_names().begin()));
    });
    fields.list("stages", [&](const json& number) {
        if (!number.is_number_integer() || number < 1) Fields::refuse("stages", "whole numbers");
        can.stages.push_back(number.get<std::int32_t>());
    });
    fields.finish();
    return can;
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
