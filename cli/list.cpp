// list.cpp — `ukemi list`: the tables of what there is.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "cli/command.hpp"
#include "plots/figures.hpp"
#include "policies/registry.hpp"
#include "sim/world.hpp"
#include "traces/generator.hpp"
#include "traces/reader.hpp"

namespace ukemi {

namespace {

std::string knob_list(KnobSet knobs) {
    std::string text;
    for (std::size_t index = 0; index < knob_count; ++index) {
        if (!knobs.has(static_cast<Knob>(index))) continue;
        if (!text.empty()) text += ' ';
        text += knob_names()[index];
    }
    return text;
}

void list_policies() {
    MarketData market;
    market.zones.resize(1);
    const KnobSet simulated = simulated_capabilities(market, JobSpec{}).knobs;
    fmt::print("{:<22}{:<21}{:<6}{}\n", "policy", "knobs", "world", "what it does (source)");
    for (const PolicyEntry& entry : all_policies()) {
        ConfigReader none = ConfigReader::from_text("{}", entry.name);
        const KnobSet knobs = make_policy(entry, none)->knobs();
        fmt::print("{:<22}{:<21}{:<6}{}\n", entry.name, knob_list(knobs),
                   simulated.includes(knobs) ? "sim" : "", entry.summary);
        const std::string alias =
            entry.alias.empty() ? "" : fmt::format("; short: {}", entry.alias);
        fmt::print("{:<49}({}{}{})\n", "", entry.source, alias,
                   entry.needs_deadline ? "; needs a deadline" : "");
    }
}

void list_traces() {
    for (const TraceForm& form : all_trace_forms()) {
        fmt::print("{:<26}{}\n", form.name, form.summary);
    }
}

void list_markets() {
    for (const MarketParameters& market : all_market_parameters()) {
        fmt::print("{:<26}{}\n", market.name, market.summary);
    }
}

void list_figures() {
    for (const Figure& figure : all_figures()) {
        fmt::print("{:<26}{}\n", figure.name, figure.summary);
    }
}

struct Kind {
    std::string_view name;
    std::string_view summary;
    void (*print)();
};
constexpr std::array kinds{
    Kind{"policies", "policies, the knobs they turn and the worlds that can turn them",
         list_policies},
    Kind{"traces", "forms of recorded traces that are understood", list_traces},
    Kind{"markets", "parameter sets of the market generator", list_markets},
    Kind{"figures", "figures that replay and plot draw", list_figures},
};

void list(const std::string& name) {
    std::vector<std::string_view> names;
    for (const Kind& kind : kinds) {
        if (kind.name == name) return kind.print();
        names.push_back(kind.name);
    }
    if (!name.empty()) {
        throw InputError(
            "list", "",
            fmt::format("there is no list of \"{}\"{}", name, did_you_mean(name, names)));
    }
    for (const Kind& kind : kinds) fmt::print("{:<12}{}\n", kind.name, kind.summary);
}

}  // namespace

void add_list(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand("list", "list policies, traces, markets or figures");
    command->add_option("KIND", *name, "policies, traces, markets or figures (none: this list)");
    command->callback([name] { list(*name); });
}

}  // namespace ukemi
