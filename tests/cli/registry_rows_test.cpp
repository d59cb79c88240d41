// registry_rows_test.cpp — every row that `ukemi list` shows can be put into a scenario that ships,
// and changes what comes out of it, or scenarios/README.md says that it has no effect here.
// (Policies: tests/scenarios/shipped_test.cpp.)
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/child.hpp"

namespace ukemi {
namespace {

using nlohmann::json;

struct Registry {
    const char* name;
    const char* heading;  // the word that a line begins with which is no row
    const char* scenario;
    const char* asked;                     // before the rows: a key to vary, or an option
    std::vector<std::string> command;      // and what it needs besides
    std::set<std::string> elsewhere = {};  // rows that another scenario shows, or none can
    const char* figure = "";               // of a variant, that the rows change
    std::size_t distinct_at_least = 0;     // of such figures; 0: as many as rows
};

// Machines of one kind of GPU and NIC take equally long.
const std::vector<Registry> registries{
    {"codecs",
     "codec",
     "steps/resnet50_on_p3.json",
     "--vary /job/codec=",
     {"simulate", "--set", "/cluster/count=4"},
     {},
     "step_s"},
    // megatron_8b: steps/megatron_8b.json; it fits on no GPU alone.
    {"models",
     "model",
     "steps/resnet50_on_p3.json",
     "--vary /job/model=",
     {"simulate", "--set", "/cluster/count=1", "--set", "/job/batch=1", "--set",
      "/cluster/machine=\"p4d.24xlarge\""},
     {"megatron_8b"},
     "step_s"},
    // cpu_16_core has no GPUs: its wires are shown by `describe --topology`.
    {"machines",
     "machine",
     "steps/resnet50_on_p3.json",
     "--vary /cluster/machine=",
     {"simulate", "--set", "/cluster/count=2"},
     {"cpu_16_core"},
     "step_s",
     20},
    {"gpus",
     "GPU",
     "steps/astra_sim_h100.json",
     "--vary /cluster/gpu=",
     {"simulate", "--set", R"(/job={"model": "resnet50", "batch": 32, "steps": 3})"},
     {},
     "step_s",
     16},  // V100 of 16 and of 32 GB compute alike
    {"schedulers",
     "",
     "jobs/shared_cluster.json",
     "--schedulers ",
     {"schedule"},
     {"allox", "gavel_cost", "spot_shares"},
     "completion_s_mean"},
    {"searchers",
     "",
     "search/gradient_search.json",
     "--vary /searchers/0/name=",
     {"search", "--set", R"(/searchers=[{"name": "grid"}])"},
     {},
     "makespan_s"},
    {"transitions",
     "role",
     "size/resize_costs.json",
     "--vary /job/transition/system=",
     {"compare", "--policies", "throughput_resize+on_demand"},
     {},
     "hours",
     10},
    {"markets",
     "market",
     "market/demo.json",
     "--vary /market/generate/market=",
     {"compare", "--policies", "greedy+daly", "--set", "/market/spot_price=\"0.9 USD/h\"", "--set",
      "/cluster/count_min=1", "--set", "/cluster/count_max=1", "--set", "/job/work=\"40 h\""},
     {},
     "cost_usd"}};

// The first words of the lines that begin with a name. Above them may stand a heading (its first
// column) and sentences.
std::vector<std::string> rows_of(const Registry& registry) {
    const Ran ran = run_ukemi(UKEMI_SOURCE_DIR, {"list", registry.name});
    REQUIRE(ran.code == 0);
    std::vector<std::string> rows;
    for (const std::string& line : lines_of(ran.out)) {
        const std::string word = line.substr(0, line.find(' '));
        const bool is_name = !word.empty() && (std::islower(static_cast<unsigned char>(word[0])) ||
                                               std::isdigit(static_cast<unsigned char>(word[0])));
        if (is_name && word != registry.heading) rows.push_back(word);
    }
    return rows;
}

double figure_of(const json& variant, std::string_view figure) {
    if (figure == "step_s") {
        const json& job = variant.at("jobs").at(0);
        return job.at("samples_per_step").get<double>() / job.at("samples_per_s").get<double>();
    }
    const json& value = variant.at(figure);
    return value.is_object() ? value.at("mean").get<double>() : value.get<double>();
}

// The option, and its value with the rows.
std::vector<std::string> asked_for(const Registry& registry, const std::string& rows) {
    const std::string asked = registry.asked;
    const std::size_t space = asked.find(' ');
    return {asked.substr(0, space), asked.substr(space + 1) + rows};
}

// A list of the document: a row of the registry each.
const json& answers_in(const json& document) {
    for (const char* name : {"variants", "candidates", "runs"}) {
        if (document.contains(name)) return document.at(name);
    }
    FAIL("no list of answers");
    return document;
}

// What the page says of a kind of `ukemi list`: the rest of the line; empty, if nothing.
std::string said_of(const std::string& kind) {
    const std::string page =
        text_in(std::filesystem::path(UKEMI_SOURCE_DIR) / "scenarios/README.md");
    const std::size_t section = page.find("## Where each row of `ukemi list` shows");
    REQUIRE(section != std::string::npos);
    const std::string begins = fmt::format("\n| `{}` |", kind);
    const std::size_t at = page.find(begins, section);
    if (at == std::string::npos) return {};
    return page.substr(at + begins.size(), page.find('\n', at + 1) - at - begins.size());
}

}  // namespace

TEST_CASE("registry rows: each changes what a scenario that ships comes to", "[cli][registry]") {
    for (const Registry& registry : registries) {
        CAPTURE(registry.name);
        std::string values;
        std::size_t rows = 0;
        for (const std::string& row : rows_of(registry)) {
            if (registry.elsewhere.contains(row)) continue;
            values += (rows++ == 0 ? "" : ",") + row;
        }
        REQUIRE(rows > 3);
        std::vector<std::string> arguments = registry.command;
        arguments.insert(arguments.begin() + 1, shipped(registry.scenario).string());
        for (std::string& part : asked_for(registry, values)) arguments.push_back(std::move(part));
        arguments.emplace_back("--json");
        const Ran ran = run_ukemi(UKEMI_SOURCE_DIR, arguments);
        INFO(ran.err);
        REQUIRE(ran.code == 0);
        const json document = json::parse(ran.out);
        const json& variants = answers_in(document);
        REQUIRE(variants.size() == rows);
        std::set<double> distinct;
        for (const json& variant : variants) distinct.insert(figure_of(variant, registry.figure));
        const std::size_t least = registry.distinct_at_least;
        CHECK(distinct.size() >= (least == 0 ? rows : least));
    }
}

TEST_CASE("registry rows: the page says where each kind shows its effect, or that it has none",
          "[cli][registry]") {
    const Ran ran = run_ukemi(UKEMI_SOURCE_DIR, {"list"});
    REQUIRE(ran.code == 0);
    int kinds = 0;
    for (const std::string& line : lines_of(ran.out)) {
        const std::string kind = line.substr(0, line.find(' '));
        CAPTURE(kind);
        const std::string said = said_of(kind);
        REQUIRE(!said.empty());
        ++kinds;
        const auto registry = std::ranges::find(
            registries, kind, [](const Registry& one) { return std::string(one.name); });
        if (registry == registries.end()) {
            CHECK((kind == "policies" || kind == "scenarios" || said.find("none:") < said.size()));
            continue;
        }
        CHECK(said.find(std::filesystem::path(registry->scenario).stem().string()) < said.size());
        const std::string asked = registry->asked;
        CHECK(said.find(asked.substr(0, asked.size() - 1)) < said.size());
        for (const std::string& row : registry->elsewhere) CHECK(said.find(row) < said.size());
    }
    CHECK(kinds >= 14);
}

}  // namespace ukemi
