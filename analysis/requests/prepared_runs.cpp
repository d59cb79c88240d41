#include "analysis/requests/prepared_runs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/pairs.hpp"
#include "analysis/requests/expand.hpp"
#include "base/first_failure.hpp"
#include "base/input_files.hpp"
#include "base/plain_text.hpp"
#include "base/read_file.hpp"
#include "scenarios/reader/live_costs.hpp"
#include "traces/reader.hpp"

namespace ukemi::analysis {

namespace {

constexpr std::string_view policy_key = "policy=";

using Document = StoredInputs::Document;

// What is run, before any scenario is read: the command line over what a run.json says.
struct Request {
    std::vector<Document> documents;
    std::vector<scenarios::VariedKey> keys;
    std::vector<ConfigOverride> overrides;
    std::vector<std::filesystem::path> traces;
    bool zones = false;
    std::string policies;         // of the command line; empty: those of each document
    std::string policies_option;  // that names them
    std::string seeds;
    std::string starts;
    std::string baseline;
    std::optional<PredictedInputs> predicted;
};

void add_documents(const RunRequest& options, Request& request) {
    for (const std::filesystem::path& file : options.scenarios) {
        if (std::ranges::count(options.scenarios, file) > 1) {
            throw InputError(file.string(), "", "named twice: its runs would count as others");
        }
        const auto stored = stored_inputs(file);
        if (!stored) {
            request.documents.push_back({file, read_file(file), "", ""});  // those it names
            continue;
        }
        if (options.scenarios.size() > 1) {
            throw InputError(file.string(), "", "is the run.json of results, and is run alone");
        }
        request.documents = stored->documents;
        request.keys = stored->varied;
        request.traces = stored->traces;
        request.zones = stored->zones;
        request.starts = stored->starts;
        request.baseline = stored->baseline;
        request.predicted = stored->predicted;
    }
    InputFiles::end_of_documents();
}

void add_variation(const RunRequest& options, Request& request) {
    request.policies = options.policies;
    request.policies_option = "--policies";
    for (const std::string& argument : options.variation.varied) {
        if (!argument.starts_with(policy_key)) {
            request.keys.push_back(scenarios::parse_varied_key(argument));
            continue;
        }
        if (!request.policies.empty()) {
            throw InputError("--vary policy", "",
                             fmt::format("has no effect beside {}", request.policies_option));
        }
        request.policies_option = "--vary policy";
        request.policies = argument.substr(policy_key.size());
        if (request.policies.empty()) {
            throw InputError("--vary policy", "", "expected a policy, found none");
        }
    }
    for (const std::string& setting : options.variation.settings) {
        request.overrides.push_back(parse_override(setting));
    }
}

bool is_at_or_below(std::string_view pointer, std::string_view key) {
    return pointer == key || pointer.starts_with(fmt::format("{}/", key));
}

// What an option replaces in every variant must not be what the variants differ in.
void check_useful(const Request& request) {
    struct Replaced {
        std::string_view option;
        bool is_there;
        std::string_view pointer;
    };
    const bool traces = !request.traces.empty();
    const bool policies = !request.policies.empty();
    const Replaced all[] = {{"--seeds", !request.seeds.empty(), "/seed"},
                            {request.policies_option, policies, "/policies"},
                            {request.policies_option, policies, "/replay"},
                            {"--starts", !request.starts.empty(), "/starts"},
                            {"--traces", traces, "/market/availability"},
                            {"--traces", traces, "/market/price"},
                            {"--traces", traces, "/market/generate"}};
    for (const scenarios::VariedKey& key : request.keys) {
        for (const Replaced& one : all) {
            if (!one.is_there || !is_at_or_below(key.pointer, one.pointer)) continue;
            throw InputError(fmt::format("--vary {}", one_line(key.pointer)), "",
                             fmt::format("has no effect beside {}", one.option));
        }
    }
}

// What --set and --vary say of policies, seeds and beginnings comes before what a run.json says.
void forget_what_is_set(Request& request) {
    const auto is_set = [&](std::string_view key) {
        const auto below = [&](const auto& one) { return is_at_or_below(one.pointer, key); };
        return std::ranges::any_of(request.keys, below) ||
               std::ranges::any_of(request.overrides, below);
    };
    for (Document& document : request.documents) {
        if (is_set("/replay") || is_set("/policies")) document.policies.clear();
        if (is_set("/seed")) document.seeds.clear();
    }
    if (is_set("/starts")) request.starts.clear();
}

// `ukemi import` writes what a zone had and what it cost into two files: as two markets, one would
// have no prices and the other spot without end.
void expect_no_halves(std::span<const std::filesystem::path> traces) {
    constexpr std::string_view price = ".price";
    for (const std::filesystem::path& one : traces) {
        const std::string name = traces::trace_name(one);
        if (!name.ends_with(price)) continue;
        const std::string zone = name.substr(0, name.size() - price.size());
        for (const std::filesystem::path& other : traces) {
            if (other.parent_path() != one.parent_path()) continue;
            if (traces::trace_name(other) != zone + ".availability") continue;
            throw InputError(one.string(), "",
                             fmt::format("has the prices of {}, and each file is a market of its "
                                         "own: expected --zones, which makes one market of all",
                                         ukemi::quoted(other.filename().string())));
        }
    }
}

Request request_of(const RunRequest& options) {
    Request request;
    add_documents(options, request);
    add_variation(options, request);
    forget_what_is_set(request);
    if (!options.traces.empty() || !options.trace_files.empty()) {
        request.traces =
            options.traces.empty() ? options.trace_files : expand_glob(options.traces, "--traces");
        request.zones = options.zones;
        if (request.predicted) request.predicted->calm = false;
    }
    if (options.zones && request.traces.empty()) {
        throw InputError("--zones", "", "expected --traces beside it: the files of the zones");
    }
    request.zones = request.zones || options.zones;
    if (!request.zones) expect_no_halves(request.traces);
    request.seeds = options.seeds;
    if (!options.starts.empty()) request.starts = options.starts;
    if (!options.baseline.empty()) request.baseline = options.baseline;
    check_useful(request);
    return request;
}

template <class Value>
void add_if_new(std::vector<Value>& values, const Value& value) {
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

// The variants of one document and what runs in each of them, with the parameters that it has for
// its policies.
ReplayDocument add_cases(const Request& request, const Document& document,
                         std::span<const scenarios::Scenario> variants,
                         std::vector<scenarios::ExperimentCase>& cases) {
    const bool told = !request.policies.empty();
    const std::string& policies = told ? request.policies : document.policies;
    const std::string where = told ? request.policies_option : document.file.string();
    const std::string& seeds = request.seeds.empty() ? document.seeds : request.seeds;
    ReplayDocument about;
    about.scenario = &variants.front();
    if (!request.keys.empty()) {
        about.varied_from =
            ConfigReader::from_text(document.text, document.file.string(), request.overrides)
                .object_text();
    }
    for (const scenarios::Scenario& scenario : variants) {
        scenarios::ExperimentCase& one = cases.emplace_back();
        one.scenario = &scenario;
        one.policies = policies.empty() ? scenario.policies
                                        : scenarios::parse_policies(policies, scenario, where);
        one.seeds = seeds.empty() ? std::vector<std::uint64_t>{scenario.seed}
                                  : parse_seeds(seeds, "--seeds");
        if (one.policies.empty()) scenarios::first_policies(scenario);  // for its complaint
        for (const scenarios::PolicyList& list : one.policies)
            add_if_new(about.policies, list.label());
        if (about.seeds.empty()) about.seeds = one.seeds;
        // The same ones again, where they are not varied.
        if (one.seeds.size() == 1) add_if_new(about.seeds, one.seeds.front());
    }
    return about;
}

bool is_recorded(const Request& request, std::span<const scenarios::Scenario> scenarios) {
    if (!request.traces.empty()) return true;
    for (const scenarios::Scenario& scenario : scenarios) {
        for (const scenarios::ZoneSource& zone : scenario.market.zones) {
            if (!zone.availability.empty() || !zone.price.empty()) return true;
        }
    }
    return false;
}

// One start of a recorded trace is an anecdote; a generated market begins anew with every seed.
scenarios::StartsChoice starts_of(const Request& request,
                                  std::span<const scenarios::Scenario> scenarios, bool windows) {
    const std::string& own = scenarios.front().starts;
    for (const scenarios::Scenario& scenario : scenarios) {
        if (!request.starts.empty() || scenario.starts == own) continue;
        throw InputError("--starts", "",
                         "expected beside scenarios that differ in their \"starts\"");
    }
    if (!request.starts.empty()) return scenarios::parse_starts(request.starts, "--starts");
    if (!own.empty()) return scenarios::parse_starts(own, "--starts");
    return scenarios::parse_starts(windows && is_recorded(request, scenarios) ? "apart" : "1",
                                   "--starts");
}

// As `ukemi train` predicted it, on whatever machine that was.
void measure(scenarios::Scenario& scenario, const PredictedInputs& predicted) {
    if (predicted.workers) scenarios::limit_workers(scenario.job, *predicted.workers);
    scenario.job.profile =
        scenarios::measured_profile(scenarios::read_costs(predicted.costs), scenario,
                                    predicted.time_scale, predicted.costs, {});
}

}  // namespace

PreparedRuns prepare_runs(const RunRequest& options, bool windows_of_records) {
    const Request request = request_of(options);
    PreparedRuns runs;
    std::vector<std::size_t> counts;  // of variants, by document
    for (const Document& document : request.documents) {
        for (scenarios::Scenario& one : scenarios::variants_from_text(
                 document.text, document.file, request.overrides, request.keys)) {
            if (request.predicted) measure(one, *request.predicted);
            runs.scenarios.push_back(std::move(one));
        }
        counts.push_back(runs.scenarios.size());
    }
    std::size_t begin = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto variants = std::span(runs.scenarios).subspan(begin, counts[i] - begin);
        begin = counts[i];
        ReplayDocument about = add_cases(request, request.documents[i], variants, runs.cases);
        if (i > 0) {
            runs.inputs.more.push_back(std::move(about));
        } else {
            static_cast<ReplayDocument&>(runs.inputs) = std::move(about);
        }
    }
    runs.setup.traces = request.traces;
    runs.setup.join_zones = request.zones;
    runs.setup.calm = request.predicted && request.predicted->calm;
    runs.setup.judged = true;
    runs.setup.starts = starts_of(request, runs.scenarios, windows_of_records);
    runs.setup.threads = options.threads > 0 ? options.threads : machine_threads();
    runs.inputs.varied = request.keys;
    runs.inputs.traces = request.traces;
    runs.inputs.zones = request.zones;
    runs.inputs.starts = runs.setup.starts.text;
    runs.inputs.predicted = request.predicted;
    if (!request.baseline.empty()) {
        std::vector<std::string> labels;
        for (const scenarios::ExperimentCase& one : runs.cases) {
            for (const scenarios::PolicyList& list : one.policies) labels.push_back(list.label());
        }
        runs.inputs.baseline = policy_called(request.baseline, labels);
    }
    return runs;
}

}  // namespace ukemi::analysis
