// policy_lists.cpp — from "a,b+c" to policies that are known to run in a scenario.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/plain_text.hpp"
#include "scenarios/reader/scenario.hpp"
#include "sim/job/world.hpp"

namespace ukemi::scenarios {

namespace {

// Not within a list of numbers, such as [30,60].
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts(1);
    bool in_list = false;
    for (const char c : text) {
        if (c == '[') in_list = true;
        if (c == ']') in_list = false;
        if (c == separator && !in_list) {
            parts.emplace_back();
        } else {
            parts.back() += c;
        }
    }
    return parts;
}

struct Setting {
    std::string key;
    std::string value;
};

// The key of "key=value"; empty where no key stands before a '='.
std::string_view key_in(std::string_view text) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
    const bool named = end != std::string_view::npos && end > 0 && text[end] == '=';
    return text.substr(0, named ? end : 0);
}

// "20min" for the main parameter, or "interval=20min", several with ':' between them.
std::vector<Setting> settings_in(std::string_view text, std::string_view main_parameter) {
    if (key_in(text).empty()) return {{std::string(main_parameter), std::string(text)}};
    std::vector<Setting> settings;
    for (const std::string& part : split(text, ':')) {
        const std::string_view key = key_in(part);
        if (key.empty()) {  // a value may have a colon, such as that of a schedule
            settings.back().value += ':' + part;
        } else {
            settings.push_back({std::string(key), part.substr(key.size() + 1)});
        }
    }
    return settings;
}

// "name", "name:value" or "name:key=value", with what the scenario says of the policy.
PolicyList::Item item_of(std::string_view text, const Scenario& scenario, std::string_view where) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const policies::PolicyEntry* entry = policies::find_policy(name);
    if (entry == nullptr) {
        throw InputError(where, "",
                         name.empty() ? "a policy without a name" : policies::no_such_policy(name));
    }
    const auto known = scenario.policy_parameters.find(std::string(entry->name));
    const bool has_some = known != scenario.policy_parameters.end();
    PolicyList::Item item{entry, has_some ? known->second : "{}"};
    if (colon == std::string_view::npos) return item;
    item.value = text.substr(colon + 1);
    nlohmann::json parameters = nlohmann::json::parse(item.parameters);
    for (const Setting& set : settings_in(item.value, entry->short_parameter)) {
        if (set.key.empty()) {
            throw InputError(where, "",
                             fmt::format("\"{}\" has no parameter that is set like \"{}\"",
                                         entry->name, one_line(text)));
        }
        const nlohmann::json value = nlohmann::json::parse(set.value, nullptr, false);
        const bool is_value = value.is_number() || value.is_boolean() || value.is_array();
        parameters[set.key] = is_value ? value : nlohmann::json(set.value);
    }
    item.parameters = parameters.dump();
    const std::string named = fmt::format("{}: policy \"{}\"", where, entry->name);
    ConfigReader reader = ConfigReader::from_text(item.parameters, named);
    policies::make_policy(*entry, reader);  // for its complaints
    return item;
}

}  // namespace

std::string PolicyList::label() const {
    std::string text;
    for (const Item& item : items) {
        if (!text.empty()) text += '+';
        text += item.entry->alias.empty() ? item.entry->name : item.entry->alias;
        if (!item.value.empty()) text += ":" + item.value;
    }
    return text;
}

bool PolicyList::needs_oracle() const {
    for (const Item& item : items) {
        if (item.entry->needs_oracle) return true;
    }
    return false;
}

bool PolicyList::needs_deadline() const {
    for (const Item& item : items) {
        if (item.entry->needs_deadline) return true;
    }
    return false;
}

std::vector<PolicyList> parse_policies(std::string_view text, const Scenario& scenario,
                                       std::string_view where) {
    std::vector<PolicyList> lists;
    for (const std::string& one : split(text, ',')) {
        PolicyList list;
        list.where = where;
        for (const std::string& name : split(one, '+')) {
            list.items.push_back(item_of(name, scenario, where));
        }
        for (const PolicyList& before : lists) {
            if (before.label() == list.label()) {
                throw InputError(where, "", fmt::format("\"{}\" stands there twice", one));
            }
        }
        lists.push_back(std::move(list));
    }
    return lists;
}

const PolicyList& first_policies(const Scenario& scenario) {
    if (!scenario.policies.empty()) return scenario.policies.front();
    throw InputError(scenario.file.string(), "",
                     "names no policies: expected \"replay\", \"policies\" or --policies");
}

std::vector<std::unique_ptr<policies::Policy>> make_policies(const PolicyList& list) {
    std::vector<std::unique_ptr<policies::Policy>> policies;
    for (const PolicyList::Item& item : list.items) {
        ConfigReader parameters = ConfigReader::from_text(item.parameters, item.entry->name);
        policies.push_back(policies::make_policy(*item.entry, parameters));
    }
    return policies;
}

// The key is that of the part without which the Plan could be.
void expect_first_plan(const Scenario& scenario, const policies::Capabilities& world) {
    const std::string refused = policies::refusal(world, scenario.job.plan);
    if (refused.empty()) return;
    struct Part {
        std::string_view key;
        void (*leave_out)(policies::Plan& plan);
    };
    static constexpr std::array parts{
        Part{"/training/codec", [](policies::Plan& plan) { plan.codec = policies::Codec::none; }},
        Part{"/training/learners", [](policies::Plan& plan) { plan.learners_per_gpu = 1; }},
    };
    std::string_view where;
    for (const Part& part : parts) {
        policies::Plan without = scenario.job.plan;
        part.leave_out(without);
        if (where.empty() && policies::refusal(world, without).empty()) where = part.key;
    }
    throw InputError(scenario.file.string(), where,
                     fmt::format("the first Plan is not possible: {}", refused));
}

namespace {

// A policy must not wait for what this job never has.
void expect_steps_for(const policies::Policy& policy, const PolicyList& list, const Scenario& of) {
    using policies::Hook;
    const policies::HookSet hooks = policy.hooks();
    if (!hooks.has(Hook::before_step) && !hooks.has(Hook::after_step)) return;
    if (of.job.samples_per_epoch > 0) return;
    throw InputError(
        list.where, "",
        fmt::format("\"{}\" looks at steps, and the job has none: its work is given as "
                    "time (\"samples\" and \"batch\" at /job)",
                    policy.name()));
}

void expect_epochs_for(const policies::Policy& policy, const PolicyList& list, const Scenario& of) {
    using policies::Hook;
    const policies::HookSet hooks = policy.hooks();
    if (!hooks.has(Hook::before_epoch) && !hooks.has(Hook::after_epoch)) return;
    if (of.job.has_epochs) return;
    const bool by_time = of.job.samples_per_epoch == 0;
    throw InputError(list.where, "",
                     fmt::format("\"{}\" goes by epochs, and the job {}", policy.name(),
                                 by_time ? "has none: its work is given as time"
                                         : "does not say how long one is (\"samples_per_epoch\" at "
                                           "/job)"));
}

}  // namespace

void check_policies(const PolicyList& list, const Scenario& scenario,
                    const policies::Capabilities& world) {
    expect_first_plan(scenario, world);
    if (list.needs_oracle() && !scenario.oracle_allowed) {
        throw InputError(list.where, "",
                         fmt::format("\"{}\" needs an oracle, which the scenario does not name "
                                     "(\"oracle\": \"future_availability\")",
                                     list.label()));
    }
    if (list.needs_deadline() && scenario.job.deadline == Instant::never()) {
        throw InputError(list.where, "",
                         fmt::format("\"{}\" needs a deadline, and the job has none "
                                     "(\"deadline\" at /job)",
                                     list.label()));
    }
    const auto policies = make_policies(list);
    for (const auto& policy : policies) expect_steps_for(*policy, list, scenario);
    const std::string conflict = policies::policy_conflict(policies, world);
    if (!conflict.empty()) throw InputError(list.where, "", conflict);
    for (const auto& policy : policies) expect_epochs_for(*policy, list, scenario);
}

}  // namespace ukemi::scenarios
