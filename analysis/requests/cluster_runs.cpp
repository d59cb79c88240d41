#include "analysis/requests/cluster_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "analysis/requests/expand.hpp"
#include "base/files_read.hpp"
#include "base/input_error.hpp"
#include "base/plain_text.hpp"

namespace ukemi::analysis {

namespace {

using nlohmann::json;

// One that the document has keeps its parameters.
ConfigOverride chosen_schedulers(const std::string& names, const StepDocument& document) {
    const json scenario = json::parse(document.text, nullptr, false);
    const json listed = scenario.is_object() ? scenario.value("schedulers", json()) : json();
    json chosen = json::array();
    for (std::size_t from = 0; from <= names.size();) {
        const std::size_t to = std::min(names.find(',', from), names.size());
        const std::string name = names.substr(from, to - from);
        json one = {{"name", name}};
        for (const json& each : listed) {
            if (each.is_object() && each.value("name", json()) == name) one = each;
        }
        chosen.push_back(one);
        from = to + 1;
    }
    return {"/schedulers", chosen.dump(), "--schedulers"};
}

std::vector<ConfigOverride> overrides_of(const ClusterRequest& request,
                                         const StepDocument& document) {
    std::vector<ConfigOverride> overrides;
    if (!request.schedulers.empty()) {
        overrides.push_back(chosen_schedulers(request.schedulers, document));
    }
    for (const std::string& setting : request.variation.settings) {
        overrides.push_back(parse_override(setting));
    }
    return overrides;
}

// The scenario of a variant as `read` gives it, to `visit`.
template <class Read, class Visit>
void for_each_read(const ClusterRequest& request, const StepDocument& document, Read read,
                   const Visit& visit) {
    scenarios::for_each_variant(
        overrides_of(request, document), document.varied, [&](auto set, auto varied) {
            ClusterVariant variant{{set.begin(), set.end()}, {varied.begin(), varied.end()}};
            const FilesRead files;
            auto scenario = read(variant);
            variant.files_digest = files.digest();
            visit(variant, std::move(scenario));
        });
}

}  // namespace

StepDocument cluster_document(const ClusterRequest& request, std::string_view command) {
    StepDocument document = read_step_document(request.scenario, command);
    if (document.live && !request.live_run) {
        throw InputError(
            request.scenario.string(), "",
            fmt::format("is of a live run: ukemi {} --live runs it live again, and its "
                        "scenario, {}, is simulated without that",
                        command, one_line(document.file.string())));
    }
    vary(document, request.variation.varied, overrides_of(request, document));
    if (!request.seeds.empty()) document.seeds = parse_seeds(request.seeds, "--seeds");
    const bool varies_seed = std::ranges::any_of(
        document.varied, [](const scenarios::VariedKey& key) { return key.pointer == "/seed"; });
    if (varies_seed && !document.seeds.empty()) {
        throw InputError("--vary", "", "expected no /seed beside --seeds: both say the seed");
    }
    if (!request.baseline.empty()) document.baseline = request.baseline;
    document.full = document.full || request.full;
    return document;
}

scenarios::ScheduleScenario read_schedule(const StepDocument& document,
                                          const ClusterVariant& variant,
                                          std::optional<std::uint64_t> seed) {
    std::vector<ConfigOverride> overrides = variant.overrides;
    if (seed) overrides.push_back({"/seed", fmt::format("{}", *seed), "--seeds"});
    auto scenario = scenarios::schedule_scenario_from_text(document.text, document.file, overrides);
    scenario.varied = variant.varied;
    return scenario;
}

scenarios::SearchScenario read_search(const StepDocument& document, const ClusterVariant& variant) {
    auto scenario =
        scenarios::search_scenario_from_text(document.text, document.file, variant.overrides);
    scenario.varied = variant.varied;
    return scenario;
}

void for_each_schedule(const ClusterRequest& request, const StepDocument& document,
                       const VisitSchedule& visit) {
    std::optional<std::uint64_t> first;
    if (!document.seeds.empty()) first = document.seeds.front();
    const auto read = [&](const ClusterVariant& variant) {
        return read_schedule(document, variant, first);
    };
    for_each_read(request, document, read, visit);
}

void for_each_search(const ClusterRequest& request, const StepDocument& document,
                     const VisitSearch& visit) {
    const auto read = [&](const ClusterVariant& variant) { return read_search(document, variant); };
    for_each_read(request, document, read, visit);
}

std::vector<scenarios::ScheduleScenario> schedules_of(const ClusterRequest& request,
                                                      const StepDocument& document) {
    std::vector<scenarios::ScheduleScenario> all;
    for_each_schedule(request, document,
                      [&](const ClusterVariant& variant, scenarios::ScheduleScenario scenario) {
                          all.push_back(std::move(scenario));
                          for (std::size_t i = 1; i < document.seeds.size(); ++i) {
                              all.push_back(read_schedule(document, variant, document.seeds[i]));
                          }
                      });
    return all;
}

std::vector<scenarios::SearchScenario> searches_of(const ClusterRequest& request,
                                                   const StepDocument& document) {
    std::vector<scenarios::SearchScenario> all;
    for_each_search(request, document,
                    [&](const ClusterVariant&, scenarios::SearchScenario scenario) {
                        all.push_back(std::move(scenario));
                    });
    return all;
}

}  // namespace ukemi::analysis
