#include "traces/plugin_forms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/input_error.hpp"
#include "traces/limits.hpp"
#include "traces/plugin.hpp"

namespace ukemi::traces {

namespace {

std::string problem_of(const FormPlugin& plugin) {
    for (std::size_t i = 0; i < plugin.count; ++i) {
        const TraceForm& form = plugin.entries[i];
        if (form.name.empty() || form.recognises == nullptr || form.read == nullptr) {
            return "has a trace form without name, recognises or read";
        }
        const auto forms = all_trace_forms();
        if (std::ranges::find(forms, form.name, &TraceForm::name) != forms.end()) {
            return fmt::format("has a trace form \"{}\", and there is one already", form.name);
        }
    }
    return "";
}

std::string take_forms(void* function) {
    const FormPlugin* const plugin = reinterpret_cast<FormPluginFunction*>(function)();
    std::string problem = problem_of_table(plugin, form_abi, "trace forms");
    if (problem.empty()) problem = problem_of(*plugin);
    if (problem.empty()) add_trace_forms({plugin->entries, plugin->count});
    return problem;
}

bool is_within(std::int32_t instances) {
    return instances >= 0 && instances <= trace_instances_max;
}
bool is_within(Price price) { return price >= Price{} && price <= trace_price_max; }

template <class Value>
const char* problem_of_series(const std::optional<Series<Value>>& series) {
    if (!series) return "";
    const auto& steps = series->steps;
    if (steps.empty() || steps.front().at != Instant{}) return "does not begin at zero";
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (!is_within(steps[i].value)) return "has a value that cannot be";
        if (i == 0) continue;
        if (steps[i].at <= steps[i - 1].at) return "goes back in time";
        if (steps[i].value == steps[i - 1].value) return "has a step that changes nothing";
    }
    if (series->end < steps.back().at) return "ends before its last step";
    if (series->end.since_start() > trace_length_max) return "is longer than 100 years";
    return "";
}

}  // namespace

PluginKind plugin_forms_kind() {
    return {form_plugin_function, "UKEMI_TRACE_FORMS of traces/plugin.hpp", take_forms};
}

void check_trace(const Trace& trace, std::string_view form, const std::filesystem::path& file) {
    const auto refuse = [&](const std::string& problem) {
        throw InputError(file.string(), "",
                         fmt::format("the reader of \"{}\" (a plug-in) gives {}", form, problem));
    };
    if (trace.series.empty() && trace.lifetimes.empty() && trace.listed_prices.empty() &&
        trace.bands.empty()) {
        refuse("nothing");
    }
    for (const TraceSeries& one : trace.series) {
        if (!one.availability && !one.price) refuse("a series of nothing");
        for (const char* problem :
             {problem_of_series(one.availability), problem_of_series(one.price)}) {
            if (*problem != '\0') refuse(fmt::format("a series that {}", problem));
        }
    }
}

}  // namespace ukemi::traces
