// list.cpp — `ukemi list`: the tables of what there is.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>

#include "analysis/requests/shipped_scenarios.hpp"
#include "cli/command.hpp"
#include "kernels/codec.hpp"
#include "plots/figures.hpp"
#include "policies/parameter_notes.hpp"
#include "policies/registry.hpp"
#include "runtime/live_run.hpp"
#include "runtime/notices/notice_source.hpp"
#include "schedulers/registry.hpp"
#include "sim/cluster/gpu_profile.hpp"
#include "sim/cluster/machine_spec.hpp"
#include "sim/cluster/model_profile.hpp"
#include "sim/job/transition_systems.hpp"
#include "sim/job/world.hpp"
#include "sim/search/searcher.hpp"
#include "traces/generator.hpp"
#include "traces/public_datasets.hpp"
#include "traces/reader.hpp"

namespace ukemi::cli {

namespace {

void list_policies() {
    sim::MarketData market;
    market.zones.resize(1);
    const policies::KnobSet simulated = sim::simulated_capabilities(market, sim::JobSpec{}).knobs;
    const policies::KnobSet live = runtime::live_capabilities(market, sim::JobSpec{}).knobs |
                                   policies::KnobSet{policies::Knob::bid};
    const auto worlds = [&](policies::KnobSet knobs) {
        std::string text = simulated.includes(knobs)                ? "sim"
                           : sim::simulated_knobs().includes(knobs) ? "(sim)"
                                                                    : "";
        if (live.includes(knobs)) text += text.empty() ? "live" : " live";
        return text;
    };
    fmt::print("{:<24}{:<21}{:<12}{}\n", "policy", "knobs", "worlds", "what it does (source)");
    const auto print = [&](const policies::PolicyEntry& entry) {
        ConfigReader none = ConfigReader::from_text("{}", entry.name);
        const policies::KnobSet knobs = policies::make_policy(entry, none)->knobs();
        fmt::print("{:<24}{:<21}{:<12}{}\n", entry.name, policies::knob_list(knobs, " "),
                   worlds(knobs), entry.summary);
        const std::string alias =
            entry.alias.empty() ? "" : fmt::format("; short: {}", entry.alias);
        fmt::print("{:<57}({}{}{})\n", "", entry.source, alias,
                   entry.needs_deadline ? "; needs a deadline" : "");
    };
    for (const policies::PolicyEntry& entry : policies::all_policies()) print(entry);
    for (const policies::PolicyEntry* const entry : policies::plugin_policies()) print(*entry);
    fmt::print(
        "(sim): where the scenario says what it costs or is worth: learning, codecs, exchanges, "
        "collectives, learners, bids, slow machines\n"
        "Where there are several zones, policies that turn \"zone\" choose among them; a list "
        "without one stays in the first.\n");
}

// Words on lines of at most 100 columns, those after the first indented.
std::string wrapped(std::string_view text, std::size_t indent) {
    constexpr std::size_t width = 100;
    std::string lines;
    std::size_t column = indent;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (column > indent && column + 1 + word.size() > width) {
            lines += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            lines += ' ';
            ++column;
        }
        lines += word;
        column += word.size();
        text.remove_prefix(std::min(word.size() + 1, text.size()));
    }
    return lines;
}

void list_policy(std::string_view name) {
    const policies::PolicyEntry* const entry = policies::find_policy(name);
    if (entry == nullptr) throw InputError("list policies", "", policies::no_such_policy(name));
    ConfigReader none = ConfigReader::from_text("{}", entry->name);
    const auto policy = policies::make_policy(*entry, none);
    fmt::print("{}{}: {}\n", entry->name,
               entry->alias.empty() ? "" : fmt::format(" (short: {})", entry->alias),
               entry->summary);
    fmt::print("  turns   {}\n", policies::knob_list(policy->knobs(), " "));
    fmt::print("  source  {}\n", entry->source);
    if (entry->needs_deadline) fmt::print("  needs   a deadline\n");
    if (entry->needs_oracle) fmt::print("  needs   \"oracle\": \"future_availability\"\n");
    if (entry->make_from != nullptr) {  // in another language: only its constructor knows
        fmt::print("  parameters are those of its constructor\n");
        return;
    }
    const std::vector<KeyNote> notes = policies::parameters_of(*entry);
    if (notes.empty()) fmt::print("  no parameters\n");
    for (const KeyNote& note : notes) {
        const std::string key = note.path.substr(1);
        const std::string otherwise =
            note.otherwise.empty() ? "" : fmt::format("; default {}", note.otherwise);
        fmt::print("  {:<26}  {}{}{}\n", key, note.listed ? "a list of: " : "", value_text(note),
                   otherwise);
    }
    if (notes.empty()) return;
    const std::string& first = notes.front().path;
    fmt::print("In a list of policies: {}:{}\n", entry->name,
               entry->short_parameter.empty()
                   ? fmt::format("{}=VALUE", first.substr(1))
                   : fmt::format("VALUE sets {}; {}:{}=VALUE any", entry->short_parameter,
                                 entry->name, first.substr(1)));
}

void list_schedulers() {
    constexpr std::size_t indent = 24;
    for (const schedulers::SchedulerEntry& entry : schedulers::all_schedulers()) {
        fmt::print("{:<{}}{}\n", entry.name, indent, entry.summary);
        std::string needs;
        if (!entry.alias.empty()) needs += fmt::format("; also: {}", entry.alias);
        if (entry.needs_service) needs += "; needs service times";
        if (entry.needs_deadline) needs += "; needs deadlines";
        if (entry.needs_prices) needs += "; needs prices";
        if (entry.one_gpu_each) needs += "; for jobs of one GPU";
        if (entry.divides) needs += "; gives parts of GPUs";
        if (entry.weighs_priorities) needs += "; weighs priorities";
        fmt::print("{:<{}}({}{})\n", "", indent, entry.source, needs);
        ConfigReader none = ConfigReader::from_text("{}", entry.name);
        entry.make(none);
        const nlohmann::json parameters = nlohmann::json::parse(none.resolved());
        for (const auto& [key, value] : parameters.items()) {
            fmt::print("{:<{}}{}: {}\n", "", indent, key,
                       value.is_string() ? value.get<std::string>() : value.dump());
        }
    }
}

void list_searchers() {
    constexpr std::size_t indent = 24;
    for (const sim::SearcherEntry& entry : sim::all_searchers()) {
        fmt::print("{:<{}}{}\n", entry.name, indent, entry.summary);
        fmt::print("{:<{}}({})\n", "", indent, entry.source);
        ConfigReader none = ConfigReader::from_text("{}", entry.name);
        entry.make(none);
        const nlohmann::json parameters = nlohmann::json::parse(none.resolved());
        for (const auto& [key, value] : parameters.items()) {
            fmt::print("{:<{}}{}: {}\n", "", indent, key, value.dump());
        }
    }
}

void list_scenarios() {
    const std::vector<analysis::ShippedScenario> all = analysis::shipped_scenarios();
    if (all.empty()) {
        throw InputError("list scenarios", "",
                         "there is no folder \"scenarios\" around this program, nor around this "
                         "folder: run it in a checkout of ukemi");
    }
    std::size_t names = 26;
    std::size_t commands = 20;
    for (const analysis::ShippedScenario& one : all) {
        names = std::max(names, one.name.size());
        commands = std::max(commands, one.commands.size());
    }
    const auto print = [&](std::string_view name, std::string_view command, std::string_view what) {
        fmt::print("{:<{}}  {:<{}}  {}\n", name, names, command, commands, what);
    };
    print("scenario", "for ukemi", "what it is about");
    for (const analysis::ShippedScenario& one : all) {
        print(one.name, one.commands, wrapped(one.question, names + commands + 4));
    }
}

void list_codecs() {
    constexpr std::string_view row = "{:<17}{:<12}{:>15}{:>18}  {}\n";
    fmt::print("Bytes are those of a matrix of 1000 x 1000 numbers, 4 MB, at the usual level.\n\n");
    fmt::print(row, "codec", "carried by", "bytes", "error feedback", "level; source");
    for (const kernels::CodecEntry& entry : kernels::all_codecs()) {
        const kernels::CodecLayout layout = kernels::codec_layout(entry.name, 0, {1000, 1000}, 8);
        const std::string level =
            entry.level.empty()
                ? "no level"
                : fmt::format("{}, {:g} ({:g} to {:g})", entry.level, entry.level_default,
                              entry.level_min, entry.level_max);
        fmt::print(row, entry.name, layout.reduces() ? "all-reduce" : "all-gather",
                   layout.message_bytes(), entry.contracts ? "yes" : "-",
                   fmt::format("{}; {}", level, entry.source));
    }
}

void list_traces() {
    constexpr std::size_t indent = 28;
    fmt::print("Forms of recorded markets that `ukemi import` understands:\n\n");
    for (const traces::TraceForm& form : traces::all_trace_forms()) {
        fmt::print("{:<{}}{}\n", form.name, indent, wrapped(form.summary, indent));
    }
    fmt::print("\nWhere there are public ones: ukemi list datasets\n");
}

void list_datasets() {
    constexpr std::size_t indent = 24;
    fmt::print("Public recordings: get them from their authors, then import them.\n");
    const auto line = [](std::string_view key, std::string_view text) {
        fmt::print("  {:<{}}{}\n", key, indent - 2, wrapped(text, indent));
    };
    for (const traces::PublicDataset& dataset : traces::all_public_datasets()) {
        fmt::print("\n{:<{}}{}\n", dataset.name, indent, wrapped(dataset.what, indent));
        if (!dataset.repository.empty()) {
            line("from", fmt::format("git clone https://github.com/{} (commit {})",
                                     dataset.repository, dataset.commit));
        }
        line("licence", dataset.licence);
        line("files", dataset.files);
        if (!dataset.forms.empty()) line("forms", dataset.forms);
        line("import", dataset.command);
    }
}

void list_markets() {
    for (const traces::MarketParameters& market : traces::all_market_parameters()) {
        fmt::print("{:<26}{}\n", market.name, market.summary);
    }
}

void list_transitions() {
    constexpr std::size_t indent = 22;
    fmt::print(
        "What changes of a training group cost, for \"system\" of a job's \"transition\".\n"
        "role input: every number was typed in from its source; none is fitted here.\n\n");
    for (const sim::TransitionSystem& system : sim::all_transition_systems()) {
        fmt::print("{:<{}}{}\n", system.name, indent, wrapped(system.summary, indent));
        const sim::TransitionCosts costs = system.costs();
        for (std::size_t index = 0; index < sim::group_change_count; ++index) {
            const records::PhaseTimes small =
                sim::phase_times(costs, static_cast<sim::GroupChange>(index), 2, 1);
            const records::PhaseTimes large =
                sim::phase_times(costs, static_cast<sim::GroupChange>(index), 32, 16);
            fmt::print("{:<{}}{:<8}stands still {:.3g} s with 2 workers, {:.3g} s with 32\n", "",
                       indent, sim::group_change_names[index], to_seconds(records::sum_of(small)),
                       to_seconds(records::sum_of(large)));
        }
        if (costs.overlapped_spawn > Duration{}) {
            fmt::print("{:<{}}spawn   {:.3g} s while the others train\n", "", indent,
                       to_seconds(costs.overlapped_spawn));
        }
        const std::string source = fmt::format("(input: {})", system.source);
        fmt::print("{:<{}}{}\n", "", indent, wrapped(source, indent));
    }
}

void list_figures() {
    for (const plots::Figure& figure : plots::all_figures()) {
        fmt::print("{:<26}{}\n", figure.name, figure.summary);
        if (!figure.panels.empty()) fmt::print("{:<26}(panels: {})\n", "", figure.panels);
    }
}

std::string_view mesh_name(sim::NvlinkMesh mesh) {
    switch (mesh) {
        case sim::NvlinkMesh::none: return "-";
        case sim::NvlinkMesh::hybrid_cube: return "hybrid cube";
        case sim::NvlinkMesh::nvswitch: return "NVSwitch";
        case sim::NvlinkMesh::all_to_all: return "all to all";
        case sim::NvlinkMesh::power8: return "with sockets";
    }
    return "";
}

void list_machines() {
    fmt::print("{:<17}{:<20}{:<14}{:<9}{:<14}{}\n", "machine", "GPUs", "NVLink", "threads", "NICs",
               "source");
    for (const sim::MachineSpec& machine : sim::all_machines()) {
        const std::string gpus =
            machine.gpus == 0 ? "-" : fmt::format("{} {}", machine.gpus, machine.gpu);
        fmt::print("{:<17}{:<20}{:<14}{:<9}{:<14}{}\n", machine.name, gpus, mesh_name(machine.mesh),
                   machine.host.cores,
                   fmt::format("{} x {} Gb/s", machine.nics.count, machine.nics.gbit_per_s),
                   machine.source);
    }
}

void list_gpus() {
    constexpr std::string_view row =
        "{:<17}{:>6}{:>6}{:>6}{:>6}{:>6}{:>10}{:>8}{:>9}{:>6}  {:<10}{}\n";
    fmt::print("Peaks in TFLOP/s, memory in GB and GB/s, NVLinks and GB/s of one, each way.\n\n");
    fmt::print(row, "GPU", "fp32", "tf32", "fp16", "bf16", "fp8", "memory", "", "NVLink", "PCIe",
               "released", "source");
    const auto rate = [](double tflops) {
        return tflops > 0 ? fmt::format("{:.4g}", tflops) : std::string("-");
    };
    for (const sim::GpuProfile& gpu : sim::all_gpus()) {
        const std::string nvlink =
            gpu.nvlinks > 0 ? fmt::format("{} x {}", gpu.nvlinks, gpu.nvlink_gb_per_s) : "-";
        fmt::print(row, gpu.name, rate(gpu.peak_tflops[0]), rate(gpu.peak_tflops[1]),
                   rate(gpu.peak_tflops[2]), rate(gpu.peak_tflops[3]), rate(gpu.peak_tflops[4]),
                   fmt::format("{:.4g}", static_cast<double>(gpu.memory.raw()) / 1e9),
                   fmt::format("{:.4g}", gpu.memory_gb_per_s), nvlink, gpu.pcie_generation,
                   gpu.released, gpu.source);
    }
}

void list_models() {
    fmt::print("{:<16}{:>14}{:>9}{:>12}{:>13}  {}\n", "model", "parameters", "tensors",
               "gradient MB", "GFLOP/sample", "sample; source");
    for (const sim::ModelEntry& entry : sim::all_models()) {
        const sim::ModelProfile model = entry.make();
        fmt::print("{:<16}{:>14}{:>9}{:>12.4g}{:>13.4g}  {}; {}\n", model.name, model.parameters(),
                   model.tensors.size(), static_cast<double>(model.gradient_bytes().raw()) / 1e6,
                   model.training_flops() / 1e9, model.sample, entry.source);
    }
}

void list_notices() {
    for (const runtime::NoticeSourceEntry& entry : runtime::all_notice_sources()) {
        fmt::print("{:<8}[:{}]  {}\n{:<8}({})\n", entry.name, entry.place, entry.summary, "",
                   entry.source);
    }
    fmt::print("\nukemi train --notices NAME[:PLACE],… asks them every five seconds.\n");
}

struct Kind {
    std::string_view name;
    std::string_view summary;
    void (*print)();
};
constexpr std::array kinds{
    Kind{"scenarios", "scenarios that come with ukemi, which are found by name", list_scenarios},
    Kind{"policies",
         "policies, the knobs they turn and the worlds that can turn them (one: by NAME)",
         list_policies},
    Kind{"schedulers", "who shares a cluster among jobs (ukemi schedule), and their parameters",
         list_schedulers},
    Kind{"searchers", "which trials of a search go on (ukemi search), and their parameters",
         list_searchers},
    Kind{"codecs", "gradient codecs: what they send, by what, and their levels", list_codecs},
    Kind{"traces", "forms of recorded markets that can be read", list_traces},
    Kind{"datasets", "public recordings: where, under which licence, and what imports them",
         list_datasets},
    Kind{"markets", "parameter sets of the market generator", list_markets},
    Kind{"figures", "figures that replay, plot and describe draw", list_figures},
    Kind{"transitions", "systems whose transition costs a scenario may name", list_transitions},
    Kind{"machines", "machines: GPUs, wires and networks (ukemi describe --topology)",
         list_machines},
    Kind{"gpus", "GPUs: peaks, memory and links", list_gpus},
    Kind{"models", "models: gradients and arithmetic, counted from their layers", list_models},
    Kind{"notices", "who can announce to a live run that its machine will be taken", list_notices},
};

void list(const std::string& name, const std::string& one) {
    if (!one.empty()) {
        if (name == "policies") return list_policy(one);
        throw InputError("list", "",
                         fmt::format("only policies are shown one by one, found \"{}\"", one));
    }
    std::vector<std::string_view> names;
    for (const Kind& kind : kinds) {
        if (kind.name == name) return kind.print();
        names.push_back(kind.name);
    }
    if (!name.empty()) {
        throw InputError("list", "",
                         fmt::format("there is no list of \"{}\"{}: expected one of {}", name,
                                     did_you_mean(name, names), fmt::join(names, ", ")));
    }
    for (const Kind& kind : kinds) fmt::print("{:<12}{}\n", kind.name, kind.summary);
}

}  // namespace

void add_list(CLI::App& app) {
    auto name = std::make_shared<std::string>();
    CLI::App* command = app.add_subcommand("list", "list policies, traces, machines and the like");
    auto one = std::make_shared<std::string>();
    command->add_option("KIND", *name, "what to list (none: the kinds)");
    command->add_option("NAME", *one, "a policy: its parameters, their defaults and its source");
    command->callback([name, one] { list(*name, *one); });
}

}  // namespace ukemi::cli
